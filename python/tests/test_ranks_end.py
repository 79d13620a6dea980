"""How runs of ranks end: as the program says, by an exception, a death, a signal or the time. No rank is left."""

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hotlink
from hotlink import Comm


def run(program: Callable[[Comm], Any], ranks: int, via: str = "shm") -> list[Any]:
    return hotlink.run(program, ranks, via, limit=30.0)


@pytest.mark.parametrize("via", ["shm", "tcp", "sci-torus2d"])
def test_the_others_hear_of_a_rank_that_raises(via: str) -> None:
    def program(comm: Comm) -> None:
        if comm.rank == 1:
            raise ValueError("out of luck")
        a = np.zeros(4)
        if comm.rank == 0:
            with pytest.raises(hotlink.PeerGoneError) as gone:
                comm.recv(a, source=1)
            assert gone.value.rank == 1
            with pytest.raises(hotlink.PeerGoneError):
                comm.probe(source=1)
        comm.barrier()

    start = time.monotonic()
    with pytest.raises(hotlink.RankError, match="rank 1 raised ValueError: out of luck") as failed:
        run(program, 4, via)
    assert failed.value.rank == 1
    assert isinstance(failed.value.__cause__, ValueError)
    assert "in program" in failed.value.__notes__[0]
    assert time.monotonic() - start < 10


# A simulation stands still while a rank sleeps: there "nothing" would let nobody go on.
KILLED = [*itertools.product(["recv", "wait", "barrier", "allreduce", "nothing"], ["shm", "tcp"])]


@pytest.mark.parametrize(("waiting", "via"), [*KILLED, ("recv", "sci-torus2d"), ("allreduce", "sci-torus2d")])
def test_a_rank_that_is_killed_is_reported_and_nobody_is_left(waiting: str, via: str) -> None:
    reading, writing = os.pipe()

    def program(comm: Comm) -> None:
        os.write(writing, b"%d\n" % os.getpid())
        comm.barrier()
        if comm.rank == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        a = np.zeros(100_000)
        match waiting:
            case "recv":
                comm.recv(a, source=2)
            case "wait":
                comm.irecv(a).wait()
            case "barrier":
                comm.barrier()
            case "allreduce":
                comm.allreduce(a, a)
            case _:
                time.sleep(60)

    with pytest.raises(hotlink.RankError, match="rank 2 was killed by signal 9"):
        run(program, 3, via)
    os.close(writing)
    with os.fdopen(reading) as pids:
        for pid in pids:
            with pytest.raises(ProcessLookupError):
                os.kill(int(pid), 0)


def test_ranks_that_do_not_end_are_ended() -> None:
    start = time.monotonic()
    with pytest.raises(TimeoutError, match=r"after the 0\.3 s allowed"):
        hotlink.run(lambda comm: comm.recv(np.zeros(1)), 2, limit=0.3)
    with pytest.raises(TimeoutError, match=r"after the 0\.3 s allowed"):
        hotlink.run(lambda _: time.sleep(0.6), 2, "sci-torus2d", limit=0.3)
    assert time.monotonic() - start < 10


@pytest.mark.parametrize("via", ["shm", "tcp", "mixed"])
def test_waits_that_cannot_end_are_told(via: str) -> None:
    def crossed(comm: Comm) -> None:
        a = np.zeros(4)
        comm.recv(a, source=1 - comm.rank, tag=7 + comm.rank)
        comm.send(a, to=1 - comm.rank, tag=8 - comm.rank)

    with pytest.raises(hotlink.CommError) as stuck:
        hotlink.run(crossed, 2, via, limit=60.0, stall=0.2)
    assert "rank 0 receives from rank 1, tag 7; rank 1 receives from rank 0, tag 8" in str(stuck.value)
    assert "a cycle: rank 0 waits for rank 1 waits for rank 0" in str(stuck.value)


@pytest.mark.parametrize("via", ["shm", "tcp"])
def test_a_rank_that_computes_is_none_that_waits(via: str) -> None:
    def program(comm: Comm) -> bool:
        a = np.zeros(1)
        if comm.rank == 0:
            comm.recv(a, source=1)
        else:
            time.sleep(0.8)
            comm.send(np.ones(1), to=0)
        return bool(a[0] == 1.0)

    assert hotlink.run(program, 2, via, limit=60.0, stall=0.2) == [True, False]


@pytest.mark.parametrize("via", ["shm", "tcp"])
def test_receiving_from_a_rank_that_has_ended_is_an_error(via: str) -> None:
    def program(comm: Comm) -> None:
        if comm.rank == 0:
            comm.recv(np.zeros(1), source=1)

    with pytest.raises(hotlink.RankError, match=r"rank 0 raised .*rank 1 has ended"):
        hotlink.run(program, 2, via, limit=60.0, stall=None)
    with pytest.raises(hotlink.InputError, match="stall=0"):
        hotlink.run(program, 2, via, stall=0.0)


def test_what_cannot_travel_back_is_said() -> None:
    with pytest.raises(hotlink.RankError, match=r"rank 0 raised .*pickle"):
        run(lambda comm: lambda: comm, 1)
    with pytest.raises(hotlink.InputError, match=r'(?s)via: etherned: not in the catalog.*"shm" or "tcp"'):
        run(lambda _: None, 2, "etherned")
    with pytest.raises(hotlink.InputError, match="ranks: say how many"):
        hotlink.run(lambda _: None)
    with pytest.raises(hotlink.InputError, match="0 ranks: 1 to 1024 are allowed"):
        run(lambda _: None, 0)
    with pytest.raises(hotlink.InputError, match="ranks: -1; must be 1 or more"):
        hotlink.run(lambda _: None, -1)
    for limit in (0.0, -1.0, float("nan")):
        with pytest.raises(hotlink.InputError, match=r"limit: .*; must be seconds above 0, or None"):
            hotlink.run(lambda _: None, 1, limit=limit)


LAUNCHED = """
import sys
import numpy as np
import hotlink

def program(comm):
    total = np.zeros(1, int)
    if comm.rank == 1 and "raise" in sys.argv:
        raise ValueError("out of luck")
    comm.allreduce(np.full(1, comm.rank + 1), total)
    return int(total[0])

print(hotlink.run(program, via=sys.argv[1]), hotlink.run(lambda comm: comm.ranks, 2, sys.argv[1]))
"""


def launch(*words: str) -> list[tuple[int, str, str]]:
    """Three processes as a launcher starts them: status and outputs of each."""
    environment = {**os.environ, "HOTLINK_RANKS": "3", "HOTLINK_JOB": f"test-{os.getpid()}-{time.monotonic_ns()}"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", LAUNCHED, *words],
            env={**environment, "HOTLINK_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(3)
    ]
    outputs = [process.communicate(timeout=30) for process in processes]
    return [(process.returncode, *output) for process, output in zip(processes, outputs, strict=True)]


@pytest.mark.parametrize("via", ["shm", "tcp"])
def test_ranks_that_a_launcher_started_take_part(via: str) -> None:
    assert launch(via) == [(0, "[6, 6, 6] [2, 2]\n", "")] * 3
    ended = launch(via, "raise")
    assert [status for status, _, _ in ended] == [1, 1, 1]
    assert "ValueError: out of luck" in ended[1][2]
    assert "PeerGoneError: rank" in ended[0][2]


LONG = """
import os, sys, time
import numpy as np
import hotlink

def program(comm):
    os.write(1, b"%d\\n" % os.getpid())
    {body}

hotlink.run(program, 2)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_the_ranks_go_with_the_program_that_started_them(number: signal.Signals) -> None:
    """Ctrl-C while they wait for messages; and a death for which no rank could prepare."""
    script = LONG.format(body="comm.recv(np.zeros(1))")
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    pids = [int(process.stdout.readline()) for _ in range(2)]
    process.send_signal(number)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == -number, errors
    deadline = time.monotonic() + 10
    while any(os.path.exists(f"/proc/{pid}/stat") and not is_zombie(pid) for pid in pids):
        assert time.monotonic() < deadline, "a rank outlives its parent"
        time.sleep(0.01)


def test_an_interrupt_ends_a_simulation() -> None:
    script = (
        "import time, hotlink; hotlink.run(lambda _: (print('here', flush=True), time.sleep(60)), 1, 'sci-torus2d')"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == -signal.SIGINT, errors


def test_a_process_that_a_rank_leaves_behind_does_not_keep_the_run() -> None:
    def program(_: Comm) -> int:
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        return child

    start = time.monotonic()
    (child,) = run(program, 1)
    os.kill(child, signal.SIGKILL)
    assert time.monotonic() - start < 20


def is_zombie(pid: int) -> bool:
    """The process that adopts orphans here may be slow to bury them."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_other_threads_run_and_signals_are_handled_while_a_rank_waits() -> None:
    """Its message is sent only when both have reported that they reached it."""
    reading, writing = os.pipe()

    def program(comm: Comm) -> object:
        a = np.zeros(1)
        if comm.rank == 0:
            told = {os.read(reading, 1) for _ in range(2)}
            comm.send(a, to=1)
            return told
        thread = threading.Timer(0.1, os.write, (writing, b"t"))
        thread.start()
        signal.signal(signal.SIGALRM, lambda *_: os.write(writing, b"s"))
        signal.setitimer(signal.ITIMER_REAL, 0.15)
        comm.recv(a, source=0)
        thread.join()
        return None

    assert run(program, 2)[0] == {b"t", b"s"}
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("via", ["shm", "tcp"])
def test_a_wait_that_a_signal_ended_can_be_taken_up_again(via: str) -> None:
    class Alarm(Exception):  # noqa: N818
        pass

    def program(comm: Comm) -> object:
        if comm.rank == 0:
            comm.barrier()
            comm.send(np.full(1000, 2.0), to=1, tag=1)
            return None

        def ring(*_: object) -> None:
            raise Alarm

        def interrupted(wait: Callable[[], object]) -> None:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(Alarm):
                wait()

        signal.signal(signal.SIGALRM, ring)
        a = np.zeros(1000)
        interrupted(lambda: comm.recv(np.zeros(1000), tag=2))
        request = comm.irecv(a, tag=1)
        interrupted(request.wait)
        others = [np.zeros(1000) for _ in range(99)]
        comm.barrier()
        request.wait()
        return a.tolist() == [2.0] * 1000 and not np.any(others)

    assert run(program, 2, via)[1] is True
