# Runs a command as two ranks in two network namespaces joined by a virtual cable: two hosts, as far as TCP can tell.
# Exit status 77: this system does not let us. Run under `unshare -rn`.
ip link add hl0 type veth peer name hl1 || exit 77
unshare -n sleep 20 & far=$!
sleep 0.2
ip link set hl1 netns $far || exit 77
ip addr add 10.99.0.1/24 dev hl0 && ip link set hl0 up
nsenter -t $far -n sh -c 'ip addr add 10.99.0.2/24 dev hl1 && ip link set hl1 up' || exit 77
export HOTLINK_MEET=10.99.0.1:7070 HOTLINK_RANKS=2 HOTLINK_SECRET="a secret of both hosts"
HOTLINK_RANK=1 nsenter -t $far -n "$@" & one=$!
HOTLINK_RANK=0 "$@"; zero=$?
wait $one; one=$?
kill $far
[ $zero = 0 ] && [ $one = 0 ]
