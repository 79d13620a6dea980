# Two hosts: two network namespaces joined by a cable. Usage, under `unshare -rn`:
#
#     limited_hosts.sh DELAY LOSS RATE FAR-COMMAND NEAR-COMMAND
#
# The cable has a delay (ms, each way), a loss (share, towards the far end) and a rate (Mbit/s, each way). Each is one
# value, or two with a comma: towards the far end, and back. OTHERS in the environment: that many other connections fill
# the cable in both directions. The cable is netem on a veth pair where the kernel has it, else cable.py between two tun
# devices. Exit status 77: this system forbids it.
delay=$1 loss=$2 rate=$3 far_command=$4 near_command=$5 here=$(dirname "$0")
unshare -n sleep 1000 & far=$!
cable= others=
trap 'kill $far $cable $others 2>/dev/null' EXIT
sleep 0.2
back() { case $1 in *,*) echo "${1#*,}" ;; *) echo "${2-$1}" ;; esac; }
percent() { awk "BEGIN { print 100 * $1 }"; }
there="delay ${delay%,*}ms loss $(percent "${loss%,*}")% rate ${rate%,*}mbit limit 10000"
again="delay $(back "$delay")ms loss $(percent "$(back "$loss" 0)")% rate $(back "$rate")mbit limit 10000"
if ip link add dev hl0 type veth peer name hl1 2>/dev/null && tc qdisc add dev hl1 root netem $again 2>/dev/null; then
  tc qdisc add dev hl0 root netem $there || exit 77
  ip link set hl1 netns $far || exit 77
  # A device that moves loses what was set.
  nsenter -t $far -n tc qdisc replace dev hl1 root netem $again || exit 77
  echo "cable: netem" >&2
else
  ip link del dev hl0 2>/dev/null
  python3 "$here/cable.py" $far "$delay" "$loss" "$rate" & cable=$!
  for _ in 1 2 3 4 5 6 7 8 9 10; do ip link show dev hl0 >/dev/null 2>&1 && break; sleep 0.2; done
  sleep 0.2
  echo "cable: user space, this kernel has no netem" >&2
fi
ip addr add 10.99.0.1/24 dev hl0 && ip link set hl0 up || exit 77
nsenter -t $far -n sh -c 'ip addr add 10.99.0.2/24 dev hl1 && ip link set hl1 up && ip link set lo up' || exit 77
ip link set lo up
if [ "${OTHERS:-0}" != 0 ]; then
  nsenter -t $far -n python3 "$here/others.py" $OTHERS 0.0.0.0 7999 & others=$!
  python3 "$here/others.py" $OTHERS 10.99.0.2 7999 & others="$others $!"
  sleep 1
fi
nsenter -t $far -n sh -c "$far_command" & other=$!
sh -c "$near_command"; near=$?
wait $other && [ $near = 0 ]
