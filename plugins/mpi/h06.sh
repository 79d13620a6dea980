#!/bin/sh
# H06's measurements (slides 23 to 26) on the whole path, plug-in, daemon, compiled RTL: `h06.sh SERVE PLUGIN BUILD`.
# Two pretended nodes of one rank. The parts of a barrier are measured with one rank: with two and the device, three
# processes share this machine's cores where it has two. HOTLINK: the command, for the Abinit kernel; without it that is
# left out. Prints CSV.
serve=$1 plugin=$2 build=$3 socket=/tmp/hotlink-h06-$$
export HOTLINK_BARRIER_DEVICE=$socket
echo "# $(date -u +%Y-%m-%d), commit $(git rev-parse --short HEAD 2>/dev/null), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) cores: make -C plugins bench-h06"
echo "what,mpi,series,median,unit"
"$(dirname "$serve")"/bench_device rtl 1 1 "$serve" | awk '
  NR > 1 { device[NR] = $2; clock[NR] = $4; write[NR] = $5; read[NR] = $6; n = NR }
  function median(of,   k, j, t) {
    for (k = 2; k <= n; k++) for (j = 2; j < n; j++) if (of[j] > of[j + 1]) { t = of[j]; of[j] = of[j + 1]; of[j + 1] = t }
    return of[int((n + 2) / 2)]
  }
  END { w = median(write); p = 6.5 * median(clock); r = median(read); d = median(device)
    printf "parts,none,o_w,%.0f,ns\nparts,none,o_p,%.0f,ns\nparts,none,o_r,%.0f,ns\nparts,none,barrier,%.0f,ns\n", w, p, r, d
    printf "parts,none,sum_over_barrier,%.2f,1\n", (w + p + r) / d }'
"$serve" --nodes 2 --ranks-per-node 1 --socket "$socket" --seconds 600 --quiet 1 & daemon=$!
trap 'kill $daemon' EXIT
while [ ! -e "$socket" ]; do kill -0 $daemon || exit 1; sleep 0.02; done
run() { # mpi, barrier (always: the device's, off: the MPI's own), program ...
  mpi=$1 barrier=$2
  shift 2
  if [ "$mpi" = openmpi ]; then
    timeout -s KILL 200 mpirun.openmpi --oversubscribe -x HOTLINK_BARRIER=$barrier -x HOTLINK_BARRIER_DEVICE -x LD_PRELOAD="$plugin" -n 2 "$@"
  else timeout -s KILL 200 mpirun.mpich -genv HOTLINK_BARRIER $barrier -genv LD_PRELOAD "$plugin" -n 2 "$@"; fi
}
kernel() { # mpi, barrier, prefix of the series
  run $1 $2 "$HOTLINK" measure kernel --via mpi --format csv | awk -F, -v mpi=$1 -v own=$3 '
    NR == 1 { for (k = 1; k <= NF; k++) at[$k] = k }
    NR == 2 { printf "abinit,%s,%sbarrier,%.2f,us\nabinit,%s,%stime,%.3f,s\n", mpi, own, $at["barrier_us"], mpi, own, $at["time_s"] }'
}
for mpi in openmpi mpich; do
  run $mpi always "$build/bench-$mpi" $mpi | awk -F, '/,plugin,|,own,/ { printf "microbenchmark,%s,%s,%.0f,ns\n", $1, $3 == "plugin" ? "device" : $3, $4 }'
  [ -n "$HOTLINK" ] || continue
  kernel $mpi always ""
  kernel $mpi off own_
done
