# shellcheck shell=bash
# The bill of materials: CycloneDX 1.5 as JSON, one component a line, from dpkg's records, what passt.sh says, the JRE's release file and Maven's
# list of jars. Names and versions in these have no character that JSON would have to escape.

sbom() {
  sbom_debian >components
  component application passt passt "$PASST_VERSION" "pkg:generic/passt@$PASST_VERSION" >>components
  sbom_jre >>components
  sbom_jars >>components
  printf '{"bomFormat":"CycloneDX","specVersion":"1.5","version":1,\n"metadata":{"timestamp":"%s","component":%s},\n"components":[\n' \
    "$CREATED" "{\"type\":\"container\",\"bom-ref\":\"platter\",\"name\":\"platter\",\"version\":\"$VERSION\"}"
  sed '$!s/$/,/' components
  printf ']}\n'
  rm components
}

# component TYPE GROUP NAME VERSION PURL [SHA256]
component() {
  local hashes=''
  [[ -z ${6:-} ]] || hashes=",\"hashes\":[{\"alg\":\"SHA-256\",\"content\":\"$6\"}]"
  printf '{"type":"%s","bom-ref":"%s","group":"%s","name":"%s","version":"%s","purl":"%s"%s}\n' \
    "$1" "$5" "$2" "$3" "$4" "$5" "$hashes"
}

# A package URL has these two characters percent-encoded.
purl_word() {
  local word=${1//+/%2B}
  printf '%s' "${word//:/%3A}"
}

sbom_debian() {
  local name version architecture
  dpkg-query --admindir="$DEBIAN/tree/var/lib/dpkg" -W -f '${Package} ${Version} ${Architecture}\n' >dpkg
  cat "$DEBIAN/parts" "$BOOT/parts" >>dpkg
  while read -r name version architecture; do
    component library debian "$name" "$version" \
      "pkg:deb/debian/$(purl_word "$name")@$(purl_word "$version")?arch=$architecture&distro=$DEBIAN_SUITE"
  done <dpkg
  rm dpkg
}

sbom_jre() {
  local version
  version=$(sed -n 's/^JAVA_RUNTIME_VERSION="\(.*\)"/\1/p' "$JAVA_HOME/release")
  component platform openjdk openjdk "$version" "pkg:generic/openjdk@$(purl_word "$version")"
}

sbom_jars() {
  local group name version file rest
  local -A known=(["platter-cli-$VERSION.jar"]="dev.platter platter-cli $VERSION")
  # group:name:jar:version:scope, or group:name:jar:classifier:version:scope; a module's name may follow.
  while IFS=': ' read -r group name _ version file rest; do
    case $file in
      compile | runtime) known[$name-$version.jar]="$group $name $version" ;;
      *) known[$name-$file-$version.jar]="$group $name $file" ;;
    esac
  done < <(sed -n 's/^ *\([^ ]*:[^ ]*:jar:[^ ]*\).*/\1/p' "$ROOT/cli/target/app.list")
  for file in "$ROOT"/cli/target/app/*.jar; do
    read -r group name version <<<"${known[${file##*/}]:-}"
    [[ -n $group ]] || { printf 'Maven does not know whose %s is\n' "$file" >&2; return 1; }
    component library "$group" "$name" "$version" "pkg:maven/$group/$name@$(purl_word "$version")" "$(sha256 "$file")"
  done
}
