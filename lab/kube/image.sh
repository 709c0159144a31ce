# Images of pods, without a registry: for ./images and e2e/images.

# busybox_root DIR: makes DIR the files of an image with all of busybox in it
busybox_root() {
  local root=$1 busybox applet
  busybox=$(command -v busybox)
  mkdir -p "$root"/{bin,etc,root,tmp}
  cp "$busybox" "$root/bin/busybox"
  for applet in $("$busybox" --list); do
    [[ $applet == busybox ]] || ln -s busybox "$root/bin/$applet"
  done
  chmod 1777 "$root/tmp"
  echo 'root:x:0:0:root:/root:/bin/sh' >"$root/etc/passwd"
  echo 'root:x:0:' >"$root/etc/group"
}

# image ROOT REFERENCE SETTING...: out/NAME.tar of the files in ROOT, where NAME is the last part of REFERENCE without its tag
image() {
  local root=$1 reference=$2 name=${2##*/}
  name=${name%:*}
  shift 2
  umoci init --layout layout
  umoci new --image "layout:$name"
  umoci insert --image "layout:$name" "$root" / >/dev/null
  umoci config --image "layout:$name" --os linux --architecture amd64 --config.env PATH=/bin "$@"
  skopeo copy --quiet "oci:layout:$name" "docker-archive:out/$name.tar:$reference"
  rm -r layout
}

# images_once NAME INPUT...: prints the directory NAME-<hash of all INPUTs>, which the function `build` fills as ./out, once
images_once() {
  local name=$1 inputs cache out work
  shift
  inputs=$(cat "$@" "${BASH_SOURCE[0]}" "$(command -v busybox)" | sha256sum)
  cache=${XDG_CACHE_HOME:-$HOME/.cache}/platter/kube
  out=$cache/$name-${inputs:0:12}
  if [[ ! -d $out ]]; then
    mkdir -p -- "$cache"
    work=$(mktemp -d "$cache/.images.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    (cd -- "$work" && mkdir out && build)
    mv -T -- "$work/out" "$out" 2>/dev/null || [[ -d $out ]] # somebody else may have been faster
    rm -rf "$work"
    trap - EXIT
  fi
  printf '%s\n' "$out"
}
