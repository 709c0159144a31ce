# shellcheck shell=bash
# The layers of the image that serves disks: a C library, and Platter as far as `platter serve` needs it. The JRE between them is
# the one of Platter's own image: a node that has that has it already. There is no shell: what can be done in such a container is
# to serve disks.

# The jars that `platter serve` needs, by the start of their names.
readonly DISK_JARS=(platter-{cli,node,block,registry,image,core,picocli} jackson-{annotations,core,databind}-2 jspecify snakeyaml-engine zstd-jni)

# disk_root_layer CACHE UPDATE: sets DISK_ROOT.
disk_root_layer() {
  DISK_ROOT=$1/diskroot-$(key "$EPOCH" <"$CONTAINER/disk.sh")
  [[ -z $2 ]] || rm -rf "$DISK_ROOT"
  layer_make "$DISK_ROOT" disk_root_tree
  layer_prune "$1" diskroot
}

disk_root_tree() {
  local sources=()
  if grep -qsw "$DEBIAN_SUITE" /etc/apt/sources.list.d/debian.sources; then
    sources=(/etc/apt/sources.list.d/debian.sources)
  fi
  rmdir tree
  SOURCE_DATE_EPOCH=$EPOCH mmdebstrap --quiet --mode=root --variant=extract --skip=cleanup/apt --format=directory --include=libc6 \
    --aptopt='Apt::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' "$DEBIAN_SUITE" tree "${sources[@]}" >&2
  # Of these packages the JVM uses the libraries. Their version stays where scanners of images look for it.
  mkdir -p root/var/lib/dpkg/status.d
  find tree/var/cache/apt/archives -name '*.deb' -exec sh -c 'dpkg-deb --field "$1" >"root/var/lib/dpkg/status.d/$(dpkg-deb --field "$1" Package)"' _ {} \;
  (cd tree && find . -path '*/gconv' -prune -o \( -path './lib/*' -o -path './lib64/*' -o -path './usr/lib/x86_64-linux-gnu/*' -o -name copyright \) \
    \( -type f -o -type l \) -print0 | cpio --quiet --null --pass-through --make-directories ../root)
  rm -rf tree
  mv root tree
  mkdir -p tree/{dev,proc,sys,etc,disk,tmp,var/tmp,opt/jre,opt/platter}
  chmod 1777 tree/tmp tree/var/tmp
  printf 'root:x:0:0:root:/:/none\nplatter:x:65532:65532:Platter:/nonexistent:/none\n' >tree/etc/passwd
  printf 'root:x:0:\nplatter:x:65532:\n' >tree/etc/group
  printf 'hosts: files dns\n' >tree/etc/nsswitch.conf
}

# disk_platter_layer DIR: sets DISK_PLATTER, made in place of what DIR is if a part of it has changed.
disk_platter_layer() {
  local parts jar name
  DISK_PLATTER=$1 DISK_APP=()
  for name in "${DISK_JARS[@]}"; do
    for jar in "$ROOT/cli/target/app/$name"-*.jar; do
      [[ -f $jar ]] || jar=$(echo "$ROOT/cli/target/app/$name"*.jar)
      DISK_APP+=("$jar")
    done
  done
  parts=$(sha256sum "${DISK_APP[@]}" "$CONTAINER"/{layer,disk}.sh "$DISK_ROOT/ids" "$JRE/ids")
  DISK_KEY=$(key "$EPOCH" <<<"$parts")
  [[ -f $1/$DISK_KEY ]] || rm -rf "$1"
  layer_make "$1" disk_platter_tree
}

# Out of memory it ends and is started again. What it needed for a moment it gives back.
disk_options() {
  local jars=("${DISK_APP[@]##*/}") IFS=:
  printf '%s\n' -XX:+UseSerialGC -Xmx40m -Xmn8m -XX:MaxDirectMemorySize=48m -Xss512k -XX:ReservedCodeCacheSize=24m -XX:TieredStopAtLevel=1 \
    -XX:MinHeapFreeRatio=10 -XX:MaxHeapFreeRatio=30 -XX:TrimNativeHeapInterval=10000 -XX:-UsePerfData -XX:+ExitOnOutOfMemoryError \
    -XX:+ErrorFileToStderr -Xlog:disable -Xlog:all=off -Djava.io.tmpdir=/var/tmp --enable-native-access=ALL-UNNAMED \
    --sun-misc-unsafe-memory-access=allow -cp "${jars[*]/#//opt/platter/app/}"
}

disk_platter_tree() {
  mkdir -p tree/opt/platter/app
  cp "${DISK_APP[@]}" tree/opt/platter/app/
  disk_options >tree/opt/platter/serve
  find tree -exec touch -h -d "@$EPOCH" {} +
  in_disk_image /opt/jre/bin/java @/opt/platter/serve -XX:AOTCacheOutput=/opt/platter/serve.aot dev.platter.cli.ServeTraining \
    >"$DISK_PLATTER.log" 2>&1 || { cat "$DISK_PLATTER.log" >&2; return 1; }
  [[ -s tree/opt/platter/serve.aot ]] || { printf 'no cache of classes was made\n' >&2; return 1; }
  printf '%s\n' -XX:AOTCache=/opt/platter/serve.aot >>tree/opt/platter/serve
  : >"$DISK_KEY"
}

# in_disk_image COMMAND…: as in_image, but without a shell inside.
in_disk_image() {
  # shellcheck disable=SC2016 # the inner shell's
  timeout -s KILL 60 unshare --mount --pid --fork --kill-child --propagation private sh -euc '
    root=$1 jre=$2 platter=$3
    shift 3
    mount --bind "$root" "$root"
    cd "$root"
    mount --bind "$jre" opt/jre
    mount --bind "$platter" opt/platter
    mount --rbind /dev dev
    mount -t proc proc proc
    mount -t tmpfs tmpfs var/tmp
    mount -o remount,bind,ro .
    exec env -i PATH="$PATH" LANG=C.UTF-8 chroot . "$@"
  ' in_disk_image "$DISK_ROOT/tree" "$JRE/tree/opt/jre" "$PWD/tree/opt/platter" "$@" </dev/null
}

# In place of Platter's own: nobody in it is root, and /disk is what it serves.
image_config() {
  local label=org.opencontainers.image
  cat <<END
{"created":"$CREATED","architecture":"amd64","os":"linux",
"config":{"User":"65532:65532","Env":["LANG=C.UTF-8","MALLOC_ARENA_MAX=1","PLATTER_HEALTH=8080"],"ExposedPorts":{"3260/tcp":{},"8080/tcp":{}},
"Entrypoint":["/opt/jre/bin/java","@/opt/platter/serve","dev.platter.cli.ServeMain"],"WorkingDir":"/",
"Labels":{"$label.title":"Platter disk","$label.description":"Serves the disks in /disk by iSCSI",
"$label.version":"$VERSION","$label.licenses":"Apache-2.0"}},
"rootfs":{"type":"layers","diff_ids":[$1]},
"history":[{"created":"$CREATED","created_by":"libc6 of Debian $DEBIAN_SUITE"},{"created":"$CREATED","created_by":"JRE"},
{"created":"$CREATED","created_by":"Platter $VERSION"}]}
END
}
