# shellcheck shell=bash
# A CSI driver with snapshots on one node: csi-driver-host-path, which keeps volumes as files there, and the programs that stand
# between it and the API server. All of them are processes of the node, so that a power cut ends them too.

readonly CSI_DRIVER=hostpath.csi.k8s.io
readonly CSI_DIRECTORY=/var/lib/kubelet/plugins/csi-hostpath
readonly CSI_SOCKET=$CSI_DIRECTORY/csi.sock CSI_REGISTRATION=/var/lib/kubelet/plugins_registry/$CSI_DRIVER.sock
readonly CSI_DAEMONS=(csi-hostpath csi-registrar csi-provisioner csi-snapshotter snapshot-controller)

csi_up() {
  local node=$1 csi
  csi=$("$HERE/csi/build")
  kubectl apply -f "$csi/crds" >/dev/null
  kubectl wait --for=condition=Established --timeout=60s -f "$csi/crds" >/dev/null
  kubectl apply -f "$HERE/csi/objects.yaml" >/dev/null
  inside "$node" mkdir -p "$CSI_DIRECTORY/data"
  start_daemon "$node" csi-hostpath env PATH="$HERE/csi/bin:$PATH" "$csi/hostpathplugin" \
    --drivername="$CSI_DRIVER" --endpoint="unix://$CSI_SOCKET" --nodeid="$node" --statedir="$CSI_DIRECTORY/data" --logtostderr --v=4
  await "$node" csi-hostpath inside "$node" test -S "$CSI_SOCKET"
  start_daemon "$node" csi-registrar "$csi/registrar" "$CSI_DRIVER" "$CSI_SOCKET" "$CSI_REGISTRATION"
  start_daemon "$node" csi-provisioner "$csi/csi-provisioner" --csi-address="$CSI_SOCKET" --kubeconfig="$KUBECONFIG" \
    --extra-create-metadata --feature-gates=Topology=true --v=3
  start_daemon "$node" csi-snapshotter "$csi/csi-snapshotter" --csi-address="$CSI_SOCKET" --kubeconfig="$KUBECONFIG" --v=2
  start_daemon "$node" snapshot-controller "$csi/snapshot-controller" --kubeconfig="$KUBECONFIG" --v=2
  await "$node" csi-registrar csi_registered "$node"
}

csi_registered() { [[ " $(kubectl get csinode "$1" -o jsonpath='{.spec.drivers[*].name}') " == *" $CSI_DRIVER "* ]]; }

# Its volumes have to be gone: nobody else can remove them.
csi_down() {
  local node=$1 daemon left
  left=$(kubectl get pv -o jsonpath="{.items[?(@.spec.csi.driver=='$CSI_DRIVER')].metadata.name}"
    kubectl get volumesnapshotcontents -o jsonpath="{.items[?(@.spec.driver=='$CSI_DRIVER')].metadata.name}")
  [[ -z $left ]] || fail "the driver still has $left"
  left=$(inside "$node" losetup --list --noheadings --output BACK-FILE | grep -F "$CSI_DIRECTORY/" || true)
  [[ -z $left ]] || fail "loop devices are left: $left"
  for daemon in "${CSI_DAEMONS[@]}"; do kill_daemon "$node" "$daemon"; done
  inside "$node" rm -rf --one-file-system "$CSI_DIRECTORY" "$CSI_REGISTRATION"
  kubectl delete -f "$HERE/csi/objects.yaml" >/dev/null
  kubectl delete crd volumesnapshots.snapshot.storage.k8s.io volumesnapshotcontents.snapshot.storage.k8s.io \
    volumesnapshotclasses.snapshot.storage.k8s.io >/dev/null
}

# What a driver that runs in pods needs of a cluster: the kinds of snapshots, the controller that there is one of, and on every
# node the sidecars as images, such as lab.local/csi-provisioner:v5.1.0.
sidecars_up() {
  local node csi work sidecar
  csi=$("$HERE/csi/build")
  kubectl apply -f "$csi/crds" >/dev/null
  kubectl wait --for=condition=Established --timeout=60s -f "$csi/crds" >/dev/null
  work=$(mktemp -d "$LAB/sidecars.XXXXXX")
  for sidecar in csi-provisioner:v5.1.0 csi-snapshotter:v8.3.0 csi-resizer:v1.14.0; do
    (cd -- "$work" && sidecar_image "$csi/${sidecar%:*}" "${sidecar#*:}")
    for node in "$@"; do load_image "$node" "$work/${sidecar%:*}.tar"; done
  done
  rm -r "$work"
  start_daemon "$1" snapshot-controller "$csi/snapshot-controller" --kubeconfig="$KUBECONFIG" --enable-distributed-snapshotting --v=2
}

sidecar_image() {
  local name=${1##*/}
  umoci init --layout layout
  umoci new --image "layout:$name"
  umoci insert --image "layout:$name" "$1" "/$name" >/dev/null
  umoci config --image "layout:$name" --os linux --architecture amd64 --config.entrypoint "/$name"
  skopeo copy --quiet "oci:layout:$name" "docker-archive:$name.tar:lab.local/$name:$2"
  rm -r layout
}

sidecars_down() {
  kill_daemon "$1" snapshot-controller
  kubectl delete crd volumesnapshots.snapshot.storage.k8s.io volumesnapshotcontents.snapshot.storage.k8s.io \
    volumesnapshotclasses.snapshot.storage.k8s.io >/dev/null
}
