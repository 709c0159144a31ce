# shellcheck shell=bash
# What the guest builders share: caching, the kernel package, initramfs packing and a disk that boots by BIOS.
#
# A builder calls `guest_build OUT_DIR FILE...`; its function `build` then runs in an empty temporary directory
# and must leave the named files there. They are renamed into OUT_DIR one by one, so a VM that still runs on an old
# file keeps it. OUT_DIR/key is removed first and written last: a directory with a key is complete. The lock is on the
# directory itself, so nothing but the results stays behind.
# No loop device, mount or root is needed to make a bootable disk: every part is a file of its own, put in its place with dd.

GUEST_LIB=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
readonly GUEST_LIB

GUEST=$(basename -- "$(dirname -- "$(realpath -- "$0")")")
readonly GUEST

say() { printf '%s\n' "$GUEST guest: $*" >&2; }
fail() { say "$*"; exit 1; }

# Prints "PACKAGE VERSION" of the kernel that linux-image-cloud-amd64 stands for.
kernel_package() {
  local meta=linux-image-cloud-amd64 package
  package=$(apt-cache depends "$meta" 2>/dev/null | sed -n 's/^ *Depends: \(linux-image-.*\)/\1/p' | head -n 1)
  [[ -n $package ]] || fail "apt knows no package $meta; run: apt-get update"
  printf '%s %s\n' "$package" "$(apt-cache show --no-all-versions "$package" | sed -n 's/^Version: //p')"
}

# True if OUT_DIR holds what these scripts would make. apt is asked (0.9 s) only after its lists have changed.
fresh() {
  local out=$1 scripts=$2 old_scripts old_kernel
  [[ -f $out/key ]] || return 1
  { read -r old_scripts && read -r old_kernel; } <"$out/key" || return 1
  [[ $old_scripts == "$scripts" ]] || return 1
  [[ ! $out/key -ot /var/lib/apt/lists ]] && return 0
  KERNEL=$(kernel_package)
  [[ $old_kernel == "$KERNEL" ]] && touch "$out/key"
}

guest_build() {
  [[ -n ${1:-} ]] || { printf 'usage: %s OUT_DIR\n' "$0" >&2; exit 2; }
  local out scripts start=$SECONDS file
  mkdir -p -- "$1"
  out=$(cd -- "$1" && pwd)
  shift
  scripts=$(cat "$GUEST_LIB/lib.sh" "$(dirname -- "$0")"/* | sha256sum)
  scripts=${scripts%% *}
  KERNEL=
  exec {lock}<"$out"
  flock "$lock"
  fresh "$out" "$scripts" && return 0
  [[ -n $KERNEL ]] || KERNEL=$(kernel_package)
  find "$out" -mindepth 1 -maxdepth 1 -name '.build.*' -exec rm -rf {} + # of a builder that was killed
  WORK=$(mktemp -d "$out/.build.XXXXXX")
  trap 'rm -rf "$WORK"' EXIT
  say "building with ${KERNEL% *} …"
  (cd "$WORK" && build) {lock}<&-
  rm -f "$out/key"
  for file; do mv -f -- "$WORK/$file" "$out/$file"; done
  printf '%s\n' "$scripts" "$KERNEL" >"$WORK/key"
  mv -f "$WORK/key" "$out/key"
  say "done in $((SECONDS - start)) s"
}

# kernel_tree DIR: the files of the kernel package in DIR, its image as ./vmlinuz.
kernel_tree() {
  apt-get download -qq "${KERNEL% *}" 2>/dev/null || fail "cannot download ${KERNEL% *}; run: apt-get update"
  dpkg -x "${KERNEL% *}"_*.deb "$1"
  mv "$1"/boot/vmlinuz-* vmlinuz
  depmod -b "$1" "$(basename -- "$1"/lib/modules/*)"
}

# kernel_modules TREE OUT MODULE...: copies the modules and what they need into OUT, with the load order in OUT/order.
# A name that this kernel has built in, or does not have, is passed over.
kernel_modules() {
  local tree=$1 out=$2 version module file
  shift 2
  version=$(basename -- "$tree"/lib/modules/*)
  mkdir -p "$out"
  for module; do
    modprobe -S "$version" -d "$tree" --show-depends "$module" 2>/dev/null || true
  done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' | while read -r file; do
    cp "$file" "$out/"
    basename -- "$file" >>"$out/order"
  done
}

# pack_initrd TREE OUT: the same tree gives the same bytes.
pack_initrd() {
  find "$1" -exec touch -h -d @0 {} +
  (cd "$1" && find . -print0 | LC_ALL=C sort -z | cpio --null -o -H newc --quiet --reproducible -R 0:0) | gzip -n -9 >"$2"
}

# boot_partition IMAGE MIB CMDLINE: a FAT partition, labelled PLATTER, from 1 MiB to 1+MIB of an image that
# already has its partition table, with MBR code, syslinux, ./vmlinuz and ./initrd.gz.
boot_partition() {
  local image=$1 mib=$2 cmdline=$3
  truncate -s "${mib}M" boot.fat
  mkfs.vfat --invariant -F 16 -S 512 -s 4 -h 2048 -n PLATTER boot.fat >/dev/null
  printf 'DEFAULT linux\nPROMPT 0\nTIMEOUT 0\nLABEL linux\n LINUX /vmlinuz\n INITRD /initrd.gz\n APPEND %s\n' \
    "$cmdline" >syslinux.cfg
  touch -d 2026-01-01T00:00:00Z vmlinuz initrd.gz syslinux.cfg # FAT knows no time before 1980
  mcopy -m -i boot.fat vmlinuz initrd.gz syslinux.cfg ::
  syslinux --install boot.fat
  dd if=/usr/lib/syslinux/mbr/mbr.bin of="$image" bs=440 count=1 conv=notrunc status=none
  dd if=boot.fat of="$image" bs=1M seek=1 conv=notrunc,sparse status=none
}
