# Runs libvirtd with directories of its own. Root's libvirtd has its paths compiled in, so they are
# replaced by bind mounts that only this mount namespace sees.
# usage: sh -c … libvirtd-system STATE RUN LIBVIRTD ARGUMENT…
set -eu
state=$1 run=$2
shift 2

own() { # own SOURCE TARGET; an empty TARGET made here stays, another instance may stand on it
  mkdir -p "$2"
  mount --bind "$1" "$2"
}

# libvirtd looks up its built-in QEMU user before it reads qemu.conf, and does not start without it.
# The package that makes that user is not needed for anything else: give it one that only we see.
known() { # known DATABASE LINE
  getent "$1" libvirt-qemu >/dev/null && return
  { cat "/etc/$1"; echo "$2"; } >"$state/$1"
  mount --bind "$state/$1" "/etc/$1"
}
known passwd 'libvirt-qemu:x:64055:64055::/nonexistent:/usr/sbin/nologin'
known group 'libvirt-qemu:x:64055:'

own "$state/etc" /etc/libvirt
own "$state/lib" /var/lib/libvirt
own "$state/cache" /var/cache/libvirt
own "$state/log" /var/log/libvirt
own "$run/run" /run/libvirt
exec "$@"
