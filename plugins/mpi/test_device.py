#!/usr/bin/env python3
"""MPI programs whose only barrier between nodes is the compiled RTL: `make -C plugins/mpi test-device`.

    test_device.py SERVER PLUGIN BUILD

On nodes that the daemon pretends: everything that test_mpi.c and test_fortran.f90 hold MPI_Barrier to. No barrier of C or
Fortran returns while the RTL's output is held; jobs of both are killed and started again. Then on two
nodes that share no memory (nodes.sh), where the system allows such.
"""

import contextlib
import mmap
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time

SERVER, PLUGIN, BUILD = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
HERE = pathlib.Path(__file__).resolve().parent
LIMIT_S = 150  # against hangs
END_S = 15  # for an MPI_Finalize that may hang
LINE, PID = 32 * 4, 4


@contextlib.contextmanager
def daemon(*options):
    """The RTL as a device; yields the process and the environment of its users."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/device"
        server = subprocess.Popen([SERVER, "--quiet", "1", "--socket", path, "--seconds", str(6 * LIMIT_S), *options])
        while not os.path.exists(path) and server.poll() is None:
            time.sleep(0.02)
        lines = pathlib.Path(folder, "lines")
        lines.write_bytes(bytes(64 * LINE))
        try:
            yield server, {"HOTLINK_BARRIER_DEVICE": path, "HOTLINK_BARRIER": "always", "SHARED_FILE": str(lines)}
        finally:
            server.terminate()
            server.wait()


def job(mpi, program, environment, hosts=None):
    """The command line of a job of four ranks, and its environment. `component` is Open MPI with the collective component."""
    extra = environment | ({} if mpi == "component" else {"LD_PRELOAD": str(PLUGIN)})
    if mpi in ("openmpi", "component"):
        command = ["mpirun.openmpi", "--oversubscribe"]
        if mpi == "component":
            ask = ["ompi_info", "--path", "pkglibdir", "--parsable"]
            own = subprocess.run(ask, stdout=subprocess.PIPE, check=True, text=True).stdout.strip().split(":")[-1]
            command += ["--mca", "mca_base_component_path", f"{own}:{BUILD / 'components'}"]
        for name, value in extra.items():
            command += ["-x", f"{name}={value}"]
        if hosts:
            command += ["--host", ",".join(f"{host}:2" for host in hosts), "--map-by", "slot"]
            command += ["--mca", "plm_rsh_agent", os.environ["AGENT"], "--mca", "btl_tcp_if_include", "10.99.0.0/24"]
            command += ["--mca", "oob_tcp_if_include", "10.99.0.0/24"]
    else:
        command = ["mpirun.mpich"]
        for name, value in extra.items():
            command += ["-genv", name, value]
        if hosts:
            command += ["-hosts", ",".join(f"{host}:2" for host in hosts), "-iface", "hl0"]
            command += ["-launcher", "ssh", "-launcher-exec", os.environ["AGENT"]]
    return [*command, "-n", "4", *map(str, program)]


def output(ranks, after_passed_s):
    """The output of a job, and whether it ended: in LIMIT_S, or this long after it has printed "passed". One that did
    not is killed."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        try:
            return ranks.communicate(timeout=1)[0], True
        except subprocess.TimeoutExpired as late:
            if b"passed" in (late.output or b""):
                end = min(end, time.monotonic() + after_passed_s)
    ranks.terminate()
    return ranks.communicate(timeout=LIMIT_S)[0], False


def run(mpi, program, environment, hosts=None):
    """Runs a job that must succeed.

    Debian's MPICH over UCX between hosts: some jobs do not end, in MPI_Finalize, where a rank waits to be told
    that a connection is closed. A program of ten lines without the plug-in did so in 7 of 25 runs. Such a job has done its
    test, and is not waited for long."""
    may_hang = mpi == "mpich" and hosts is not None
    ranks = subprocess.Popen(job(mpi, program, environment, hosts), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text, ended = output(ranks, END_S if may_hang else LIMIT_S)
    text = text.decode(errors="replace").strip()
    print(f"{mpi}: {text}")
    if not ended and may_hang and "passed" in text:
        print("mpich: its MPI_Finalize did not end")
    elif not ended or ranks.returncode != 0 or "passed" not in text:
        sys.exit(f"{mpi}: " + (f"status {ranks.returncode}" if ended else f"did not end in {LIMIT_S} s"))


class Lines:
    """The counts that the ranks of `test_mpi count` have left in their file."""

    def __init__(self, path):
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), 64 * LINE)
        self.memory[:] = bytes(64 * LINE)

    def numbers(self, offset=0):
        return [struct.unpack_from("i", self.memory, rank * LINE + offset)[0] for rank in range(4)]

    def wait(self, what, test):
        """Until the counters satisfy a test of those before and now, seen over a second."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            before = self.numbers()
            time.sleep(1)
            if test(before, self.numbers()):
                return before
        sys.exit(f"{what}: {self.numbers()}")

    def stop(self):
        struct.pack_into("i", self.memory, 63 * LINE, -1)


def all_moved(before, now):
    return min(now) > max(before) + 1


def counting(mpi):
    """The programs that count barriers: C, and Fortran where it was built."""
    yield "C", BUILD / f"test-{mpi}"
    program = BUILD / f"fortran-{mpi}" / "test"
    if program.exists():
        yield "Fortran", program


def held(mpi, language, program, server, environment):
    """With the RTL's output held no MPI_Barrier returns."""
    lines = Lines(environment["SHARED_FILE"])
    ranks = subprocess.Popen(job(mpi, [program, "count"], environment))
    lines.wait("the job does not start", all_moved)
    server.send_signal(signal.SIGUSR1)
    at = lines.wait("barriers go on with the output held", lambda before, now: before == now)
    time.sleep(1)
    if lines.numbers() != at or max(at) - min(at) > 1:
        sys.exit(f"{mpi}: barriers returned while the device was held: {at}, {lines.numbers()}")
    server.send_signal(signal.SIGUSR2)
    lines.wait("barriers do not go on", all_moved)
    lines.stop()
    if ranks.wait(LIMIT_S) != 0:
        sys.exit(f"{mpi}: the held job failed")
    print(f"{mpi}, {language}: held: no barrier returned after {max(at)}, and all went on when it was let go")


def killed(mpi, environment):
    """Jobs whose ranks are killed, with more groups than the device has; then one that must find the device free."""
    jobs = 0
    for language, program in counting(mpi):
        for victim in range(3):
            lines = Lines(environment["SHARED_FILE"])
            ranks = subprocess.Popen(job(mpi, [program, "count"], environment), stderr=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL)
            lines.wait("the job does not start", all_moved)
            os.kill(lines.numbers(PID)[victim], signal.SIGKILL)
            if ranks.wait(LIMIT_S) == 0:
                sys.exit(f"{mpi}, {language}: the job survived the death of rank {victim}")
            jobs += 1
    print(f"{mpi}: {jobs} jobs killed in the middle of their barriers, and again:")
    run(mpi, [BUILD / f"test-{mpi}"], {**environment, "EXPECT_TAKEN": "1", "EXPECT_DEVICE": "1", "SHARED_FILE": ""})


def fortran(mpi, environment):
    program = BUILD / f"fortran-{mpi}" / "test"
    if program.exists():
        run(mpi, [program], environment)
    else:
        print(f"{mpi}: LEFT OUT: Fortran, not built (make test-fortran)")


def pretended():
    for mpi in ["openmpi", "mpich"]:
        with daemon("--nodes", "2", "--ranks-per-node", "2") as (server, environment):
            for language, program in counting(mpi):
                held(mpi, language, program, server, environment)
            killed(mpi, environment)
            fortran(mpi, environment)
            if mpi == "openmpi":
                run("component", [BUILD / "test-openmpi"], environment | {"EXPECT_TAKEN": "1", "EXPECT_DEVICE": "1", "SHARED_FILE": ""})


def apart():
    """On two nodes in namespaces; this script runs again there."""
    with daemon("--nodes", "2") as (_, environment):
        command = ["unshare", "-rnum", "sh", HERE / "nodes.sh", sys.executable, __file__, *sys.argv[1:4], "apart"]
        done = subprocess.run(command, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        text = done.stdout.decode(errors="replace").strip()
        forbidden = ["unshare failed", "Operation not permitted", "ermission denied"]
        if done.returncode == 77 or (done.returncode and any(what in text for what in forbidden)):
            print(f"LEFT OUT: nodes in namespaces are not allowed here: {text}")
            return
        print(text)
        if done.returncode != 0:
            sys.exit("nodes in namespaces: failed")


def on_two_nodes():
    names = ["HOTLINK_BARRIER_DEVICE", "HOTLINK_BARRIER", "SHARED_FILE"]
    environment = {name: os.environ[name] for name in names} | {"EXPECT_TAKEN": "1", "EXPECT_DEVICE": "1"}
    environment |= {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "hl0"}  # it knows a machine by its boot, which these nodes have in common
    for mpi in ["openmpi", "mpich"]:
        run(mpi, [BUILD / f"test-{mpi}", "apart"], environment, ["10.99.0.1", "10.99.0.2"])
        if (BUILD / f"fortran-{mpi}" / "test").exists():
            run(mpi, [BUILD / f"fortran-{mpi}" / "test"], environment, ["10.99.0.1", "10.99.0.2"])


if __name__ == "__main__":
    if sys.argv[4:] == ["apart"]:
        on_two_nodes()
    else:
        pretended()
        print("nodes that share no memory:")
        apart()
