# shellcheck shell=bash
# What the scripts that build container images have in common.
source "$ROOT/scripts/need.sh"
source "$ROOT/scripts/jdk.sh"
source "$ROOT/scripts/app.sh"
source "$CONTAINER/layer.sh"
source "$CONTAINER/debian.sh"
source "$CONTAINER/jre.sh"
source "$CONTAINER/archive.sh"

# The time in everything: what is made of the same parts has the same bytes.
pom() { sed -n "0,/<$1>/s:.*<$1>\(.*\)</$1>.*:\1:p" "$ROOT/pom.xml"; }
VERSION=$(pom version)
CREATED=$(pom project.build.outputTimestamp)
EPOCH=$(date -u -d "$CREATED" +%s)

# build_begin NAME ARG…: reads the command line, builds the jars and locks the caches. Sets out, tag, update, work and cache.
build_begin() {
  local name=$1
  shift
  out=$ROOT/target/container/$name.tar tag=platter.dev/$name:$VERSION update=''
  while (($#)); do
    case $1 in
      -o) out=${2:?-o needs a file}; shift 2 ;;
      --tag) tag=${2:?--tag needs a name}; shift 2 ;;
      --update) update=yes; shift ;;
      -h | --help) usage; exit ;;
      *) usage >&2; exit 2 ;;
    esac
  done
  [[ $out == *.tar ]] || { printf 'the name of the archive has to end in .tar: %s\n' "$out" >&2; exit 2; }
  [[ $tag =~ ^[A-Za-z0-9][A-Za-z0-9._:/-]*:[A-Za-z0-9_][A-Za-z0-9._-]*$ ]] ||
    { printf 'not the name of an image, with a tag: %s\n' "$tag" >&2; exit 2; }
  [[ $EUID == 0 ]] || { printf '%s\n' "$0 has to run as root: the image has files of many owners" >&2; exit 6; }

  find_jdk
  need pack container-guest
  app_build cli
  work=$ROOT/target/container cache=${XDG_CACHE_HOME:-$HOME/.cache}/platter/container
  mkdir -p "$work" "$cache" "$(dirname -- "$out")"
  exec {lock}<"$cache"
  flock "$lock"
}
