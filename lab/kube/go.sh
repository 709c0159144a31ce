# shellcheck shell=bash
# Programs of others that are built from the modules that are pinned beside their build scripts.
#
# find_go: puts a Go that can build Kubernetes first in PATH.
#
# It is the first of: the one in PATH, the one its own installer puts under /usr/local, the toolchain that an older Go (Debian's,
# installed if there is none) gets as a module through whatever module proxy it is configured for. Go checks that
# module like any other, against the checksum database.

readonly GO_OLDEST=1.25 GO_TOOLCHAIN=golang.org/toolchain@v0.0.1-go1.26.8.linux-amd64

find_go() {
  local go
  for go in go /usr/local/go/bin/go; do
    if go_is_new "$go"; then
      PATH=$(dirname -- "$(command -v "$go")"):$PATH
      return 0
    fi
  done
  command -v go >/dev/null || need go
  go=$(module_directory "$GO_TOOLCHAIN")
  [[ -n $go ]] || { printf 'no Go %s or newer, and none from its module proxy\n' "$GO_OLDEST" >&2; return 1; }
  # Modules are unpacked read-only and without the right to execute.
  chmod -R u+w "$go" && chmod -R u+x "$go/bin" "$go/pkg/tool"
  PATH=$go/bin:$PATH
}

go_is_new() {
  local version
  version=$(GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
  printf '%s\n' "$GO_OLDEST" "${version#go}" | sort --check=silent --version-sort
}

# build_once NAME FILE...: prints the directory NAME-<hash of all FILEs, the calling script and this one> of the cache. If it is not there, the function
# `compile` fills $work/out with Go in its PATH, and that becomes it, complete, by rename. Of several callers one builds.
# Go's own caches, gigabytes, are removed afterwards, unless GOCACHE and GOMODCACHE say where they are to be kept.
build_once() {
  local name=$1 inputs cache out lock
  shift
  inputs=$(cat -- "$0" "${BASH_SOURCE[0]}" "$@" | sha256sum)
  cache=${XDG_CACHE_HOME:-$HOME/.cache}/platter/${name%/*}
  out=$cache/${name##*/}-${inputs:0:12}
  if [[ ! -d $out ]]; then
    mkdir -p -- "$cache"
    exec {lock}<"$cache"
    flock "$lock"
  fi
  if [[ ! -d $out ]]; then
    find "$cache" -mindepth 1 -maxdepth 1 -name '.build.*' -exec chmod -R u+w {} + -exec rm -rf {} + # of a builder that was killed
    work=$(mktemp -d "$cache/.build.XXXXXX")
    trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT # modules are unpacked read-only
    (
      export GOCACHE=${GOCACHE:-$work/objects} GOMODCACHE=${GOMODCACHE:-$work/modules}
      start=$SECONDS
      mkdir "$work/out"
      printf 'building %s, which takes some minutes, once …\n' "$name"
      find_go
      export CGO_ENABLED=0 GOFLAGS='-mod=readonly -buildvcs=false -trimpath'
      compile
      printf 'built in %d s\n' $((SECONDS - start))
    ) {lock}<&- >&2
    sync -f "$work/out" # or power that fails leaves names of empty files
    mv -T -- "$work/out" "$out"
  fi
  printf '%s\n' "$out"
}

# kubernetes_version GO_MOD: the release that it pins
kubernetes_version() { sed -n 's/^.*k8s\.io\/kubernetes \(v[0-9.]*\)$/\1/p' "$1"; }

# kubernetes_flags VERSION: a linker's, by which programs tell their version; both places: kubectl reads one, the servers the other
kubernetes_flags() {
  local package minor=${1#v1.}
  printf -- '-s -w'
  for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
    printf -- ' -X %s' "$package.gitVersion=$1" "$package.gitMajor=1" "$package.gitMinor=${minor%%.*}" \
      "$package.gitTreeState=clean" "$package.buildDate=2026-01-01T00:00:00Z"
  done
}

# module_directory MODULE@VERSION: where the sources of a module are, which may be downloaded for it
module_directory() { (cd / && go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p'); }
