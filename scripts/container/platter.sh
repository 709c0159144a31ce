# shellcheck shell=bash
# The top layer: Platter's jars, the command that starts them, the cache of loaded classes that the image's own JRE makes from them,
# and the launcher, which needs nothing else of the image. A cache is good for one class path at one place, hence it is made in the image.
# It is the one layer whose bytes differ from build to build: the JVM's cache does.
LAUNCHER=$ROOT/cluster/src/main/c/launch.c

# platter_layer DIR: sets PLATTER, made in place of what DIR is if a part of it has changed.
platter_layer() {
  local parts
  PLATTER=$1
  parts=$(cd "$ROOT/cli/target" && sha256sum app/*.jar app.list "$CONTAINER"/{layer,passt,platter,sbom}.sh "$CONTAINER"/bin/* "$LAUNCHER" "$DEBIAN/ids" "$BOOT/ids" "$JRE/ids")
  parts=$(key "$EPOCH" <<<"$parts")
  [[ -f $1/$parts ]] || rm -rf "$1"
  PLATTER_KEY=$parts
  layer_make "$1" platter_tree
}

platter_tree() {
  mkdir -p tree/opt/platter/app tree/opt/platter/bin tree/usr/share/platter
  cp "$ROOT"/cli/target/app/*.jar tree/opt/platter/app/
  install -m 755 "$CONTAINER/bin/platter" tree/opt/platter/bin/
  gcc -std=c11 -Wall -Wextra -Werror -Os -static -s -Wl,--build-id=none -o tree/opt/platter/bin/launch "$LAUNCHER"
  sbom >tree/usr/share/platter/sbom.json
  find tree -exec touch -h -d "@$EPOCH" {} +
  # The last word of the options takes the place of the class that would be run.
  train platter '-XX:AOTCacheOutput=/opt/platter/platter.aot dev.platter.cli.Training'
  : >"$PLATTER_KEY"
}

# train COMMAND OPTIONS: without a cache all works as well, and slower; but an image is made seldom, so it has to have it.
train() {
  local cache=${2#*=}
  in_image timeout -s KILL 60 env PLATTER_JAVA_OPTIONS="$2" "/opt/platter/bin/$1" >"$PLATTER.$1.log" 2>&1 || true
  [[ -s tree${cache%% *} ]] || { cat "$PLATTER.$1.log" >&2; printf 'no cache of classes was made for %s\n' "$1" >&2; return 1; }
  rm "$PLATTER.$1.log"
}

# in_image COMMAND…: runs it in the three layers. Only /opt/platter can be written to, and no mount stays.
in_image() {
  # shellcheck disable=SC2016 # the inner shell's
  unshare --mount --pid --fork --kill-child --propagation private sh -euc '
    root=$1 jre=$2 platter=$3
    shift 3
    mount --bind "$root" "$root"
    cd "$root"
    mount --bind "$jre" opt/jre
    mount --bind "$platter" opt/platter
    mount --rbind /dev dev
    mount -t proc proc proc
    mount -t tmpfs tmpfs tmp
    mount -o remount,bind,ro .
    exec chroot . env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"
  ' in_image "$DEBIAN/tree" "$JRE/tree/opt/jre" "$PWD/tree/opt/platter" "$@" </dev/null
}
