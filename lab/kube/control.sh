# shellcheck shell=bash
# The machine `control`: the lab's switch, etcd and Kubernetes' servers.

control_on() {
  local node user
  power_on control /run
  mkdir -p "$LAB/control/flexvolumes"

  net control ip link set lo up
  net control ip addr add "$SERVICES.1/32" dev lo
  net control ip link add lab address 02:00:00:00:00:02 type bridge
  net control ip addr add "$CONTROL/24" dev lab
  net control ip link set lab up
  ip link add "$LINK" type veth peer name outside netns "$(init_of control)"
  net control ip link set outside master lab up
  ip addr add "$OUTSIDE/24" dev "$LINK"
  ip link set "$LINK" up
  ip route add "$SERVICES.0/24" via "$CONTROL" dev "$LINK"
  for ((node = 1; node <= MOST_NODES; node++)); do
    ip route add "$(pods_of node$node).0/24" via "$(address_of node$node)" dev "$LINK"
    net control ip route add "$(pods_of node$node).0/24" via "$(address_of node$node)"
  done

  certificate kube-apiserver /O=system:masters/CN=kube-apiserver \
    "IP:$CONTROL,IP:$SERVICES.1,IP:127.0.0.1,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc"
  certificate admin /O=system:masters/CN=admin
  certificate kube-controller-manager /CN=system:kube-controller-manager
  certificate kube-scheduler /CN=system:kube-scheduler
  certificate kube-proxy /CN=system:kube-proxy
  certificate front-proxy-client /CN=front-proxy-client '' front-proxy-ca
  for user in admin kube-controller-manager kube-scheduler kube-proxy; do kubeconfig "$user"; done
}

start_control() {
  local pki=$LAB/pki config=$LAB/$1.kubeconfig command=("$1")
  case $1 in
    # Nothing is to outlive the machine outside, so it need not wait for its disk.
    etcd) command+=(--data-dir "$LAB/control/etcd" --unsafe-no-fsync --log-level warn) ;;
    kube-apiserver) command+=(
      --etcd-servers=http://127.0.0.1:2379 --bind-address=0.0.0.0 --secure-port=443 --advertise-address="$CONTROL"
      --tls-cert-file="$pki/$1.crt" --tls-private-key-file="$pki/$1.key" --client-ca-file="$pki/ca.crt"
      --kubelet-client-certificate="$pki/$1.crt" --kubelet-client-key="$pki/$1.key"
      --kubelet-certificate-authority="$pki/ca.crt" --kubelet-preferred-address-types=InternalIP
      --service-account-issuer=https://kubernetes.default.svc --service-account-key-file="$pki/accounts.pub"
      --service-account-signing-key-file="$pki/accounts.key" --service-cluster-ip-range="$SERVICES.0/24"
      --requestheader-client-ca-file="$pki/front-proxy-ca.crt" --requestheader-allowed-names=front-proxy-client
      --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group
      --requestheader-extra-headers-prefix=X-Remote-Extra-
      --proxy-client-cert-file="$pki/front-proxy-client.crt" --proxy-client-key-file="$pki/front-proxy-client.key"
      --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction --allow-privileged
      # This machine has no kube-proxy: webhooks are called at their pods' addresses.
      --enable-aggregator-routing
    ) ;;
    kube-controller-manager) command+=(
      --kubeconfig="$config" --authentication-kubeconfig="$config" --authorization-kubeconfig="$config" --bind-address=127.0.0.1
      --service-account-private-key-file="$pki/accounts.key" --root-ca-file="$pki/ca.crt" --use-service-account-credentials
      --cluster-signing-cert-file="$pki/ca.crt" --cluster-signing-key-file="$pki/ca.key" --leader-elect=false
      --flex-volume-plugin-dir="$LAB/control/flexvolumes"
    ) ;;
    kube-scheduler) command+=(
      --kubeconfig="$config" --authentication-kubeconfig="$config" --authorization-kubeconfig="$config" --bind-address=127.0.0.1
      --leader-elect=false
    ) ;;
    *) fail "control has no $1" ;;
  esac
  start_daemon control "$1" "${command[@]}"
  [[ $1 != kube-apiserver ]] || await control "$1" curl --silent --fail --cacert "$pki/ca.crt" --cert "$pki/admin.crt" --key "$pki/admin.key" "https://$CONTROL/readyz"
}
