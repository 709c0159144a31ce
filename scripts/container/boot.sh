# shellcheck shell=bash
# A layer with the kernel and the initramfs that run container images as VMs: guest/container says what they are made of.

# boot_layer CACHE: sets BOOT.
boot_layer() {
  BOOT_FILES=$1/boot-files
  "$ROOT/guest/container/build" "$BOOT_FILES"
  BOOT=$1/boot-$(cat "$CONTAINER/boot.sh" "$BOOT_FILES"/{vmlinuz,initrd.gz} | key "$EPOCH")
  layer_make "$BOOT" boot_tree
  layer_prune "$1" boot
}

# The kernel's package and version are in the second line of the builder's key; busybox is this machine's.
boot_tree() {
  local kernel busybox
  mkdir -p tree/usr/lib/platter/boot
  install -m 644 "$BOOT_FILES"/{vmlinuz,initrd.gz} tree/usr/lib/platter/boot/
  kernel=$(sed -n 2p "$BOOT_FILES/key")
  busybox=$(dpkg-query -W -f '${Package} ${Version}' busybox-static)
  printf '%s amd64\n' "$kernel" "$busybox" >parts
}
