# shellcheck shell=bash
# A layer is a directory: `tree` has its files, `blob` is them packed, `ids` the digests of blob and of the tar in it.
# It is made under another name and renamed: a directory of that name is complete.

# layer_make DIR FUNCTION: FUNCTION fills ./tree, or a layer of that name is there already. The caller has locked.
layer_make() {
  local dir=$1 new=$1.new start=$SECONDS
  if [[ -d $dir ]]; then
    touch "$dir"
    return
  fi
  printf 'making the layer %s …\n' "${dir##*/}" >&2
  rm -rf "$new" # of a build that was killed
  # One command a line: in a condition, `set -e` would not hold.
  (
    trap 'rm -rf "$new"' EXIT
    mkdir -p "$new/tree"
    cd "$new"
    "$2"
    layer_pack
    mv -T "$new" "$dir"
  )
  printf 'made it in %d s\n' $((SECONDS - start)) >&2
}

# Device nodes are the runtime's to make. The same files give the same bytes, but for owners: they are as on disk.
layer_pack() {
  local size
  tar --create --file plain --directory tree --sort=name --format=gnu --numeric-owner --mtime="@$EPOCH" --exclude='./dev/*' .
  pigz -n -c plain >blob
  size=$(stat -c %s blob)
  printf '%s %s %s\n' "$(sha256 blob)" "$(sha256 plain)" "$size" >ids
  rm plain
}

sha256() {
  local sum
  sum=$(sha256sum -- "$1")
  printf '%s' "${sum%% *}"
}

# key WORD…: a short name for what these words, and the text on standard input, say.
key() {
  local sum
  sum=$({ printf '%s\n' "$@"; cat; } | sha256sum)
  printf '%s' "${sum:0:16}"
}

# layer_prune DIR NAME: forgets layers NAME-… that nobody has used for a month.
layer_prune() { find "$1" -mindepth 1 -maxdepth 1 -name "$2-*" -mtime +30 -exec rm -rf {} +; }

# publish_file FILE TARGET: a reader sees the old one or the new one.
publish_file() { cp -- "$1" "$2.new" && mv -- "$2.new" "$2"; }
