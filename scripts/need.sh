# shellcheck shell=bash
# need SET...: makes sure the packages of these sets (see the table `packages`) are installed.
#
# As root on Debian it installs what is missing; elsewhere it prints the command to run and exits with 6. When all is
# there it costs no process at all: a stamp remembers the list of packages and is older than dpkg's database
# only if something was installed or removed since.
# PLATTER_PACKAGES=skip says that the programs come from somewhere else than dpkg.

need() {
  [[ ${PLATTER_PACKAGES:-} != skip ]] || return 0
  local -A why=()
  local set package reason
  while read -r set package reason; do
    [[ " $* " != *" $set "* ]] || why[$package]=$reason
  done <"$ROOT/scripts/packages"
  local list="${!why[*]}" database=/var/lib/dpkg/status
  local sets="$*" stamp
  stamp="${XDG_CACHE_HOME:-$HOME/.cache}/platter/packages/${sets// /-}"
  if [[ $stamp -nt $database && $(<"$stamp") == "$list" ]]; then return 0; fi

  local missing=()
  mapfile -t missing < <(missing_packages "${!why[@]}")
  if ((${#missing[@]})); then
    printf 'platter needs these packages:\n' >&2
    for package in "${missing[@]}"; do printf '  %-28s %s\n' "$package" "${why[$package]}" >&2; done
    install_packages "${missing[@]}"
  fi
  mkdir -p "${stamp%/*}" && printf '%s\n' "$list" >"$stamp"
}

missing_packages() {
  local -A have=()
  local package status names
  # What another package provides is there too: Docker's containerd.io is a containerd.
  while read -r status names; do
    [[ $status == installed ]] || continue
    for package in ${names//,/ }; do have[$package]=1; done
  done < <(dpkg-query -W -f '${db:Status-Status} ${Package} ${Provides}\n' 2>/dev/null)
  for package; do [[ ${have[$package]:-} ]] || printf '%s\n' "$package"; done
}

install_packages() {
  local command=(apt-get install -y --no-install-recommends --no-remove "$@") log
  if [[ $EUID != 0 ]] || ! command -v apt-get >/dev/null; then
    printf 'Install them (these are the names in Debian), for example with:\n  sudo %s\n' "${command[*]}" >&2
    exit 6
  fi
  log=$(mktemp)
  printf 'installing them …\n' >&2
  export DEBIAN_FRONTEND=noninteractive
  # Fresh machines have no package lists, old ones lists of files that are gone.
  if quietly "${command[@]}" >"$log" 2>&1 ||
    { apt-get update >"$log" 2>&1 && quietly "${command[@]}" >"$log" 2>&1; }; then
    rm -f "$log"
  else
    tail -n 20 "$log" >&2
    rm -f "$log"
    printf 'could not install them; by hand:\n  apt-get update && %s\n' "${command[*]}" >&2
    exit 6
  fi
}

# quietly COMMAND...: installs without letting packages start servers: platter and its tests start their own. Debian asks
# policy-rc.d; one that somebody else put there stays as it is.
quietly() (
  policy=/usr/sbin/policy-rc.d mark='# platter: while it installs packages'
  if [[ ! -e $policy ]] || grep -qxF "$mark" "$policy"; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\n%s\nexit 101\n' "$mark" >"$policy"
    chmod 755 "$policy"
  fi
  "$@"
)
