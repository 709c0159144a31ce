# shellcheck shell=bash
# Machines of the lab. Each is a set of namespaces (mount, network, UTS, IPC, PID) kept by one process: when that is killed, all
# that ran in there dies with it, and its mounts and network links are gone.
#
#   control   etcd and Kubernetes' servers; also the switch (bridge `lab`) that all the others are plugged into
#   node1…9   containerd, kubelet, kube-proxy
#
# The machine outside has one link into the lab, `platter-lab`. No machine of the lab has a default route, so nothing
# leaves it, and no port, firewall rule or sysctl of the machine outside is touched.
# Addresses are from the block that is set aside for tests of networks:
#   198.18.0.1    the machine outside          198.19.N.0/24     pods of node N
#   198.18.0.2    control, the API server      198.19.255.0/24   services; .1 is the API server's
#   198.18.0.1N   node N

readonly OUTSIDE=198.18.0.1 CONTROL=198.18.0.2 SERVICES=198.19.255 LINK=platter-lab MOST_NODES=9
readonly CURRENT=/run/platter-lab # a link to the state of the lab that runs
readonly FLEXVOLUMES=/usr/libexec/kubernetes/kubelet-plugins/volume/exec
readonly NODE_DIRECTORIES=(
  /run /var/lib/kubelet /var/lib/containerd /var/lib/cni /var/lib/platter /var/log/pods /var/log/containers "$FLEXVOLUMES"
)

fail() { printf 'lab: %s\n' "$*" >&2; exit 1; }

address_of() { printf '198.18.0.1%s' "${1#node}"; }
pods_of() { printf '198.19.%s' "${1#node}"; }

# The first process of a machine, a child of `unshare`, whose pid is in the file. Empty if the machine is off.
init_of() {
  local parent child=''
  [[ -f $LAB/$1/pid ]] || return 0
  parent=$(<"$LAB/$1/pid")
  [[ ! -r /proc/$parent/task/$parent/children ]] || read -r child <"/proc/$parent/task/$parent/children" || true
  printf '%s' "${child%% *}"
}

# inside MACHINE COMMAND...
inside() {
  local init
  init=$(init_of "$1")
  [[ -n $init ]] || fail "$1 is off"
  shift
  nsenter -t "$init" -m -n -u -i -p -- "$@"
}

# net MACHINE COMMAND...: only its network, not its file system and processes.
net() {
  local init
  init=$(init_of "$1")
  shift
  nsenter -t "$init" -n -- "$@"
}

# power_on MACHINE DIRECTORY...: its namespaces, with these directories for itself alone; no network yet.
power_on() {
  local name=$1 root=$LAB/$1/root directory init='' tries
  shift
  for directory; do
    mkdir -p "$root$directory"
    mount_point "$directory"
  done
  mkdir -p "$root/run/"{lab,lock}
  setsid unshare -m -n -u -i -p --fork --kill-child=KILL --propagation private --mount-proc \
    "$HERE/init" "$name" "$root" "$KUBE/pause" "$@" </dev/null >>"$LAB/log/$name" 2>&1 &
  printf '%s\n' $! >"$LAB/$name/pid"
  for ((tries = 0; tries < 500; tries++)); do
    init=$(init_of "$name")
    [[ -z $init || $(readlink "/proc/$init/exe") != "$KUBE/pause" ]] || return 0
    sleep 0.02
  done
  cat "$LAB/log/$name" >&2
  fail "$name does not start"
}

# power_cut MACHINE: all its processes die at once, QEMU included; what is on its disk stays.
power_cut() {
  local name=$1 init device devices=()
  [[ -d $LAB/$name ]] || fail "there is no $name"
  init=$(init_of "$name")
  if [[ -n $init ]]; then
    mapfile -t devices < <(loop_devices "$name")
    kill -KILL "$init" || true
    # A PID namespace's first process is the last to go.
    while [[ -d /proc/$init ]]; do sleep 0.02; done
    for device in "${devices[@]}"; do losetup --detach "$device"; done
  fi
  rm -rf --one-file-system "$LAB/$name/pid" "$LAB/$name/root/run"
  remove_cgroups "$name"
}

# Loop devices belong to no namespace. Prints those over what is in the node's own directories; a file of the machine outside may
# have the same path, but not the same inode.
loop_devices() {
  local name=$1 device inode file directory
  inside "$name" losetup --list --noheadings --raw --output NAME,BACK-INO,BACK-FILE | while read -r device inode file; do
    for directory in "${NODE_DIRECTORIES[@]}"; do
      [[ $file != "$directory"/* || $(inside "$name" stat --format=%i -- "$file" 2>/dev/null) != "$inode" ]] || printf '%s\n' "$device"
    done
  done
}

# Where a node's directories are mounted there has to be one; those that were not there are removed with the lab.
mount_point() {
  local missing=() directory=$1
  until [[ -d $directory ]]; do
    missing=("$directory" "${missing[@]}")
    directory=$(dirname -- "$directory")
  done
  for directory in "${missing[@]}"; do
    mkdir -p "$directory"
    printf '%s\n' "$directory" >>"$LAB/mount-points"
  done
}

remove_mount_points() {
  [[ -f $LAB/mount-points ]] || return 0
  tac "$LAB/mount-points" | while read -r directory; do
    [[ ! -d $directory ]] || rmdir --ignore-fail-on-non-empty "$directory"
  done
}

hierarchies() { awk '$3 == "cgroup" || $3 == "cgroup2" { print $2 }' /proc/mounts; }

make_cgroups() {
  local hierarchy file
  for hierarchy in $(hierarchies); do
    mkdir -p "$hierarchy/platter-$1"
    # Version 1 starts a cpuset with nothing, and nothing can run in it.
    for file in cpuset.cpus cpuset.mems; do
      [[ ! -f $hierarchy/$file || $hierarchy != *cpuset* ]] || cat "$hierarchy/$file" >"$hierarchy/platter-$1/$file"
    done
    # What pods get of a machine beside its own processes, as kubelet has it; else all of a node's would weigh as much as one process here.
    [[ ! -f $hierarchy/cpu.shares ]] || echo $((1024 * $(nproc))) >"$hierarchy/platter-$1/cpu.shares"
  done
}

# Also after a power cut, as with a real one: a kubelet that finds groups of dead containers spends seconds on each.
remove_cgroups() {
  local hierarchy tries
  for hierarchy in $(hierarchies); do
    for ((tries = 0; tries < 100; tries++)); do
      [[ -d $hierarchy/platter-$1 ]] || break
      find "$hierarchy/platter-$1" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.05 # a group is busy until its dead are buried
    done
  done
}

# start_daemon MACHINE NAME COMMAND...
start_daemon() {
  local machine=$1 name=$2
  shift 2
  printf '%s\0' "$@" >"$LAB/$machine/$name.command"
  # shellcheck disable=SC2016 # expanded inside
  inside "$machine" bash -c 'log=$1 name=$2; shift 2
    setsid "$@" </dev/null >>"$log" 2>&1 & echo $! >"/run/lab/$name.pid"' \
    - "$LAB/log/$machine-$name" "$name" "$@"
}

# start_again MACHINE NAME: as it was started before.
start_again() {
  local command=()
  [[ -f $LAB/$1/$2.command ]] || fail "$1 has no $2"
  mapfile -d '' command <"$LAB/$1/$2.command"
  start_daemon "$1" "$2" "${command[@]}"
}

kill_daemon() {
  # shellcheck disable=SC2016 # expanded inside
  inside "$1" bash -ec 'pid=$(<"/run/lab/$1.pid"); kill -KILL "$pid"; while [[ -d /proc/$pid ]]; do sleep 0.02; done' - "$2" ||
    fail "no $2 runs on $1"
}

# await MACHINE DAEMON COMMAND...: until the command succeeds; the daemon must live that long.
await() {
  local machine=$1 name=$2 end=$((SECONDS + 90))
  shift 2
  until "$@" >/dev/null 2>&1; do
    # shellcheck disable=SC2016 # expanded inside
    if ((SECONDS > end)) || ! inside "$machine" bash -c '[[ -d /proc/$(<"/run/lab/$1.pid") ]]' - "$name"; then
      tail -n 20 "$LAB/log/$machine-$name" >&2
      fail "$name on $machine does not serve"
    fi
    sleep 0.1
  done
}
