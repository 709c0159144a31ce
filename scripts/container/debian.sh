# shellcheck shell=bash
# The lowest layer: the packages of the sets `run` and `container` and what they depend on, and parts of others. No apt: an image is replaced,
# not kept up. dpkg's records stay, for those who look for packages with known holes.

readonly DEBIAN_SUITE=bookworm # its QEMU and libvirt are those that the tests run against

# debian_layer CACHE UPDATE: sets DEBIAN.
debian_layer() {
  local packages
  packages=$(awk '$1 == "run" || $1 == "container" { print $2 }' "$ROOT/scripts/packages" | LC_ALL=C sort -u | paste -sd,)
  DEBIAN=$1/debian-$(cat "$CONTAINER"/{debian.sh,parts} | key "$packages" "$EPOCH")
  DEBIAN_PACKAGES=$packages
  [[ -z $2 ]] || rm -rf "$DEBIAN"
  layer_make "$DEBIAN" debian_tree
  layer_prune "$1" debian
}

debian_tree() {
  local sources=()
  # The mirror of this machine, if it is one for this suite; else mmdebstrap's.
  if grep -qsw "$DEBIAN_SUITE" /etc/apt/sources.list.d/debian.sources; then
    sources=(/etc/apt/sources.list.d/debian.sources)
  fi
  SOURCE_DATE_EPOCH=$EPOCH mmdebstrap --quiet --mode=root --variant=essential --format=directory --include="$DEBIAN_PACKAGES" \
    --aptopt='Apt::Install-Recommends "false"' --aptopt='Acquire::Languages "none"' \
    --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/info/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-include=/usr/share/doc/*/copyright' --customize-hook="$CONTAINER/parts" \
    "$DEBIAN_SUITE" tree "${sources[@]}" >&2
  rm -rf tree/var/lib/apt tree/var/cache/* tree/var/log/* tree/var/lib/dpkg/*-old tree/var/lib/systemd tree/boot
  rm -f tree/etc/{hostname,resolv.conf,machine-id} tree/etc/{passwd,group,shadow,gshadow,subuid,subgid}-
  # Launchers and the controller run as this user.
  echo 'platter:x:65532:65532:Platter:/nonexistent:/usr/sbin/nologin' >>tree/etc/passwd
  echo 'platter:x:65532:' >>tree/etc/group
  mkdir -p tree/opt/jre tree/opt/platter
}
