# shellcheck shell=bash
# An archive of an image as `docker save` writes it today: an OCI layout, with a manifest.json for older readers.

# archive FILE TAG LAYER…
archive() {
  local file=$1 tag=$2 layer blob diff size layers='' diffs='' names='' dir config manifest
  shift 2
  dir=$(mktemp -d "$file.XXXXXX")
  # shellcheck disable=SC2064 # this directory
  trap "rm -rf '$dir'" EXIT
  mkdir -p "$dir/tree/blobs/sha256"
  for layer; do
    read -r blob diff size <"$layer/ids"
    ln -s "$layer/blob" "$dir/tree/blobs/sha256/$blob"
    layers+=",{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar+gzip\",\"digest\":\"sha256:$blob\",\"size\":$size}"
    diffs+=",\"sha256:$diff\""
    names+=",\"blobs/sha256/$blob\""
  done
  config=$(json_blob "$dir/tree" "$(image_config "${diffs#,}")")
  manifest=$(json_blob "$dir/tree" '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":'"$(
    descriptor "$dir/tree" application/vnd.oci.image.config.v1+json "$config")"',"layers":['"${layers#,}"']}')
  printf '{"imageLayoutVersion":"1.0.0"}' >"$dir/tree/oci-layout"
  printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[%s]}' "$(
    descriptor "$dir/tree" application/vnd.oci.image.manifest.v1+json "$manifest" \
      ',"annotations":{"io.containerd.image.name":"'"$tag"'","org.opencontainers.image.ref.name":"'"${tag##*:}"'"}')" >"$dir/tree/index.json"
  printf '[{"Config":"blobs/sha256/%s","RepoTags":["%s"],"Layers":[%s]}]' "$config" "$tag" "${names#,}" >"$dir/tree/manifest.json"
  tar --create --file "$dir/archive" --directory "$dir/tree" --dereference --sort=name --format=gnu --owner=0 --group=0 \
    --numeric-owner --mode=u=rwX,go=rX --mtime="@$EPOCH" oci-layout index.json manifest.json blobs
  mv "$dir/archive" "$file"
}

# json_blob LAYOUT TEXT: stores it, and prints its digest.
json_blob() {
  local sum
  printf '%s' "$2" >"$1/blob"
  sum=$(sha256 "$1/blob")
  mv "$1/blob" "$1/blobs/sha256/$sum"
  printf '%s' "$sum"
}

# descriptor LAYOUT TYPE SHA256 [MORE]
descriptor() {
  printf '{"mediaType":"%s","digest":"sha256:%s","size":%d%s}' "$2" "$3" "$(stat -c %s "$1/blobs/sha256/$3")" "${4:-}"
}

# Root, as the node's daemon has to be; pods of other roles name a user.
image_config() {
  local label=org.opencontainers.image
  cat <<EOF
{"created":"$CREATED","architecture":"amd64","os":"linux",
"config":{"Env":["PATH=/opt/platter/bin:/opt/jre/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin","LANG=C.UTF-8"],
"Entrypoint":["/opt/platter/bin/platter"],"WorkingDir":"/",
"Labels":{"$label.title":"Platter","$label.description":"VM disks for Kubernetes: node daemon, controller and launcher",
"$label.version":"$VERSION","$label.licenses":"Apache-2.0"}},
"rootfs":{"type":"layers","diff_ids":[$1]},
"history":[{"created":"$CREATED","created_by":"Debian $DEBIAN_SUITE with QEMU and libvirt"},{"created":"$CREATED","created_by":"passt $PASST_VERSION"},
{"created":"$CREATED","created_by":"kernel and initramfs of VMs that run container images"},
{"created":"$CREATED","created_by":"JRE"},
{"created":"$CREATED","created_by":"Platter $VERSION"}]}
EOF
}
