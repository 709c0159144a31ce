# shellcheck shell=bash
# A layer with passt alone, which gives a guest the network of its pod. It is built here: the package of the image's Debian
# (passt of March 2023) does not answer guests that accept a connection, and later packages need a later libc. The sources are
# those of a later Debian, by their digest; linked statically, they do not mind which Debian the machine has.

readonly PASST_VERSION=2025_05_03.587980c
readonly PASST_SOURCE=pool/main/p/passt/passt_0.0~git20250503.587980c.orig.tar.xz
readonly PASST_SHA256=69d5eb843f7d648c2cc60bfbca6ea7b5014c6b6f07cdee362c2a8cf490515a49

# passt_layer CACHE: sets PASST.
passt_layer() {
  PASST=$1/passt-$(key "$EPOCH" <"$CONTAINER/passt.sh")
  layer_make "$PASST" passt_tree
  layer_prune "$1" passt
}

passt_tree() {
  curl --silent --show-error --fail --location --max-time 120 -o passt.tar.xz "$(debian_mirror)/$PASST_SOURCE"
  sha256sum --quiet --check <<<"$PASST_SHA256  passt.tar.xz"
  mkdir source
  tar --extract --file passt.tar.xz --directory source --strip-components=1
  # Both of them: passt starts the other one where the processor can run it.
  make --silent -C source VERSION="$PASST_VERSION" CFLAGS='-static -DGLIBC_NO_STATIC_NSS' passt passt.avx2 >passt.log 2>&1 ||
    { cat passt.log >&2; return 1; }
  mkdir -p tree/usr/bin tree/usr/share/doc/passt
  install -s -m 755 source/passt source/passt.avx2 tree/usr/bin/
  cat source/LICENSES/* >tree/usr/share/doc/passt/copyright
  rm -rf source passt.tar.xz passt.log
}

# The mirror of this machine, if its sources of packages say which it is.
debian_mirror() {
  local mirror
  mirror=$(sed -n '0,/^URIs: */s///p' /etc/apt/sources.list.d/debian.sources 2>/dev/null) || true
  printf '%s' "${mirror:-http://deb.debian.org/debian}"
}
