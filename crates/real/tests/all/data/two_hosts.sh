# Runs a command as ranks on two hosts, as far as it can tell. They are two network namespaces joined by a virtual cable.
# The second has processes of its own, so that its ranks share no memory with the first's. EACH (1): ranks on each host.
# Exit status 77: this system forbids it. Run under `unshare -rn`.
ip link add hl0 type veth peer name hl1 || exit 77
unshare -n -p -m --mount-proc --fork --kill-child sleep 120 >/dev/null 2>&1 & keeper=$!
# It ignores what could be ignored.
trap 'kill -KILL $keeper' EXIT
# Its processes are apart once it sleeps.
for trial in $(seq 100); do far=$(pgrep -x -P $keeper sleep) && break; sleep 0.1; done
[ -n "$far" ] || exit 77
ip link set hl1 netns $far || exit 77
ip addr add 10.99.0.1/24 dev hl0 && ip link set hl0 up && ip link set lo up
there="nsenter -t $far -n -p -m"
$there sh -c 'ip addr add 10.99.0.2/24 dev hl1 && ip link set hl1 up && ip link set lo up' || exit 77
each=${EACH:-1}
export HOTLINK_MEET=10.99.0.1:7070 HOTLINK_RANKS=$((2 * each)) HOTLINK_SECRET="a secret of both hosts"
all=""
for place in $(seq 0 $((each - 1))); do
    HOTLINK_RANK=$((each + place)) $there "$@" & all="$all $!"
done
for place in $(seq 0 $((each - 1))); do
    HOTLINK_RANK=$place "$@" & all="$all $!"
done
failed=0
for rank in $all; do wait $rank || failed=1; done
exit $failed
