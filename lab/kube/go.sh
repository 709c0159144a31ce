# shellcheck shell=bash
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
  go=$(cd / && go mod download -json "$GO_TOOLCHAIN" | sed -n 's/^\t"Dir": "\(.*\)",\{0,1\}$/\1/p')
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
