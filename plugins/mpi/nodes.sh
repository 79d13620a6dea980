# Runs a command on the first of two nodes that share neither network, names, processes nor /dev/shm, as far as they can
# tell. AGENT is then a program that a launcher of MPI takes for ssh. Run under `unshare -rnum`. Exit status 77: this
# system forbids it.
ip link add hl0 type veth peer name hl1 || exit 77
hostname near && mount -t sysfs sysfs /sys && mount -t tmpfs tmpfs /dev/shm || exit 77
unshare -n -u -p -m --mount-proc --fork --kill-child sh -c 'hostname far && mount -t sysfs sysfs /sys && mount -t tmpfs tmpfs /dev/shm && exec sleep 300' &
keeper=$!
AGENT=$(mktemp)
trap 'kill -KILL $keeper; rm -f $AGENT' EXIT
for trial in $(seq 100); do far=$(pgrep -x -P $keeper sleep) && break; sleep 0.1; done
[ -n "$far" ] || exit 77
ip link set hl1 netns $far name hl0 || exit 77
ip addr add 10.99.0.1/24 dev hl0 && ip link set hl0 up && ip link set lo up
nsenter -t $far -n sh -c 'ip addr add 10.99.0.2/24 dev hl0 && ip link set hl0 up && ip link set lo up' || exit 77
cat >$AGENT <<END
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
shift
exec nsenter -t $far -n -u -p -m sh -c "cd $PWD && \$*"
END
chmod +x $AGENT
export AGENT
"$@"
