# Two network namespaces joined by a cable of a given delay (ms, each way), loss (share, towards the far end) and rate
# (Mbit/s, each way): two hosts. Usage, under `unshare -rn`: limited_hosts.sh DELAY LOSS RATE FAR-COMMAND NEAR-COMMAND
# The cable is netem on a veth pair where the kernel has it; else cable.py between two tun devices.
# Exit status 77: this system does not let us.
delay=$1 loss=$2 rate=$3 far_command=$4 near_command=$5
unshare -n sleep 100 & far=$!
cable=
trap 'kill $far $cable 2>/dev/null' EXIT
sleep 0.2
limit() { "$@" root netem delay ${delay}ms loss $share% rate ${rate}mbit limit 10000; }
if ip link add dev hl0 type veth peer name hl1 2>/dev/null && share=0 limit tc qdisc add dev hl1 2>/dev/null; then
  share=$(awk "BEGIN { print 100 * $loss }") limit tc qdisc add dev hl0 || exit 77
  ip link set hl1 netns $far || exit 77
  # A device that moves loses what was set.
  share=0 limit nsenter -t $far -n tc qdisc replace dev hl1 || exit 77
  echo "cable: netem" >&2
else
  ip link del dev hl0 2>/dev/null
  python3 "$(dirname "$0")/cable.py" $far $delay $loss $rate & cable=$!
  for _ in 1 2 3 4 5 6 7 8 9 10; do ip link show dev hl0 >/dev/null 2>&1 && break; sleep 0.2; done
  sleep 0.2
  echo "cable: user space, this kernel has no netem" >&2
fi
ip addr add 10.99.0.1/24 dev hl0 && ip link set hl0 up || exit 77
nsenter -t $far -n sh -c 'ip addr add 10.99.0.2/24 dev hl1 && ip link set hl1 up && ip link set lo up' || exit 77
ip link set lo up
nsenter -t $far -n sh -c "$far_command" & other=$!
sh -c "$near_command"; near=$?
wait $other && [ $near = 0 ]
