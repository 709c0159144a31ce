# shellcheck shell=bash
# The machines `node1`, `node2`, …: paths inside are those of any node, such as /run/containerd/containerd.sock.

node_on() {
  local name=$1 other archive
  power_on "$name" "${NODE_DIRECTORIES[@]}"
  make_cgroups "$name"

  # The same hardware address at each boot: the others remember it.
  net control ip link add "$name" type veth peer name eth0 address "02:00:00:00:00:1${name#node}" netns "$(init_of "$name")"
  net control ip link set "$name" master lab up
  net "$name" ip link set lo up
  net "$name" ip addr add "$(address_of "$name")/24" dev eth0
  net "$name" ip link set eth0 up
  net "$name" ip route add "$SERVICES.0/24" via "$CONTROL"
  for ((other = 1; other <= MOST_NODES; other++)); do
    [[ $name == node$other ]] || net "$name" ip route add "$(pods_of node$other).0/24" via "$(address_of node$other)"
  done
  net "$name" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'

  if [[ -f $LAB/$name/kubelet.yaml ]]; then
    start_node "$name" containerd
  else
    configure_node "$name"
    start_node "$name" containerd
    for archive in "$IMAGES"/*.tar; do load_image "$name" "$archive"; done
  fi
}

# What the node has on its disk before it is first switched on.
configure_node() {
  local name=$1 directory=$LAB/$1
  certificate "$name" "/O=system:nodes/CN=system:node:$name" "DNS:$name,IP:$(address_of "$name")"
  kubeconfig "$name"
  mkdir -p "$directory"/{cni,registries}
  cat >"$directory/cni/lab.conflist" <<END
{"cniVersion": "0.4.0", "name": "lab", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": "$(pods_of "$name").0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
END
  cat >"$directory/containerd.toml" <<END
version = 2
# opt would make /opt/containerd; the others are for file systems that are not here.
disabled_plugins = [
  "io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
]
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "lab.local/pause:1"
  # Without CAP_SYS_RESOURCE nobody is made safer from the OOM killer than containerd is.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$directory/cni"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "$directory/registries"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
END
  cat >"$directory/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
tlsCertFile: $LAB/pki/$name.crt
tlsPrivateKeyFile: $LAB/pki/$name.key
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $LAB/pki/ca.crt}}
authorization: {mode: Webhook}
resolvConf: ""
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /platter-$name
enforceNodeAllocatable: []
failCgroupV1: false
failSwapOn: false
volumePluginDir: $FLEXVOLUMES
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}
imageGCHighThresholdPercent: 100
serializeImagePulls: false
END
}

start_node() {
  local name=$1
  case $2 in
    containerd)
      start_daemon "$name" containerd containerd --config "$LAB/$name/containerd.toml"
      await "$name" containerd inside "$name" ctr version
      ;;
    kubelet)
      start_daemon "$name" kubelet kubelet --kubeconfig="$LAB/$name.kubeconfig" --config="$LAB/$name/kubelet.yaml" \
        --hostname-override="$name" --node-ip="$(address_of "$name")"
      ;;
    kube-proxy)
      start_daemon "$name" kube-proxy kube-proxy --kubeconfig="$LAB/kube-proxy.kubeconfig" --hostname-override="$name" \
        --proxy-mode=iptables --nodeport-addresses=primary --conntrack-max-per-core=0
      ;;
    *) start_again "$name" "$2" ;; # of a CSI driver
  esac
}

load_image() { inside "$1" ctr -n k8s.io images import - <"$2" >/dev/null; }

await_node() {
  await "$1" kubelet inside "$1" curl --silent --fail http://127.0.0.1:10248/healthz
  kubectl wait --for=create "node/$1" --timeout=60s >/dev/null
  kubectl wait --for=condition=Ready "node/$1" --timeout=60s >/dev/null || {
    tail -n 20 "$LAB/log/$1-kubelet" >&2
    fail "$1 is not ready"
  }
}
