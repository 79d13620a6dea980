"""Messages between ranks on numpy arrays: arrivals match numpy's values, and no rank is left behind."""

import json
import math
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import hotlink
from hotlink import Comm

LIMIT_S = 30.0


def run(program: Callable[[Comm], Any], ranks: int, via: str = "shm") -> list[Any]:
    return hotlink.run(program, ranks, via, limit=LIMIT_S)


@pytest.fixture(params=["shm", "tcp", "sci-torus2d"])
def via(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u2", "?", "c16", ">i4", "S5", "f8,i4"])
def test_any_dtype_arrives_as_it_was_sent(dtype: str) -> None:
    sent = np.frombuffer(bytes(i % 2 for i in range(100 * np.dtype(dtype).itemsize)), dtype)

    def program(comm: Comm) -> object:
        if comm.rank == 0:
            comm.send(sent, to=1, tag=7)
            return None
        received = np.empty_like(sent)
        status = comm.recv(received, source=0, tag=7)
        return received.tobytes(), (status.source, status.tag, status.bytes)

    received, status = run(program, 2)[1]
    assert received == sent.tobytes()
    assert status == (0, 7, sent.nbytes)


@pytest.mark.parametrize("count", [0, 1, 3, 1000, 200_000])
def test_messages_of_every_size_arrive_both_ways(count: int, via: str) -> None:
    def program(comm: Comm) -> bool:
        mine, theirs = np.arange(count) + comm.rank, np.zeros(count, int)
        peer = 1 - comm.rank
        requests = [comm.irecv(theirs, source=peer), comm.isend(mine, to=peer)]
        statuses = hotlink.wait_all(requests)
        again = requests[0].wait()
        return statuses[0].bytes == again.bytes == 8 * count and bool((theirs == np.arange(count) + peer).all())

    assert run(program, 2, via) == [True, True]


VIEWS: dict[str, Callable[[Any], Any]] = {
    "every third": lambda a: a[::3],
    "a column": lambda a: a.reshape(20, 30)[:, 4],
    "some columns": lambda a: a.reshape(20, 30)[:, 4:9],
    "planes": lambda a: a.reshape(5, 4, 30)[:, :, ::2],
    "some rows": lambda a: a.reshape(20, 30)[3:7],
    "a field": lambda a: a.view("i8,i8")["f1"],
    "one": lambda a: a[5:6],
}


@pytest.mark.parametrize("name", VIEWS)
def test_regular_views_are_sent_and_received_in_place(name: str, via: str) -> None:
    view = VIEWS[name]

    def program(comm: Comm) -> object:
        whole = np.arange(600) * (1 - comm.rank)
        if comm.rank == 0:
            comm.send(view(whole), to=1)  # gaps to gaps, gaps to a row, a row to gaps
            comm.send(view(whole), to=1)
            comm.send(np.ascontiguousarray(view(whole)), to=1)
            return None
        row = np.zeros_like(np.ascontiguousarray(view(whole)))
        comm.recv(view(whole), source=0)
        comm.recv(row, source=0)
        seen = whole.copy()
        whole[:] = 0
        comm.recv(view(whole), source=0)
        return seen, row, whole

    sent, wanted = np.arange(600), np.zeros(600, int)
    view(wanted)[...] = view(sent)
    seen, row, again = run(program, 2, via)[1]
    assert (seen == wanted).all()
    assert (again == wanted).all()
    assert (row == view(sent)).all()


def refused(what: Callable[[Comm], object], ranks: int = 1) -> str:
    """The text that `what` is refused with, at the last rank."""

    def program(comm: Comm) -> str:
        with pytest.raises((TypeError, ValueError)) as refusal:
            what(comm)
        return str(refusal.value)

    return str(run(program, ranks)[-1])


SQUARE = np.zeros((6, 6))


@pytest.mark.parametrize(
    ("what", "parts"),
    [
        (lambda c: c.send(SQUARE[::2, ::3][:, ::-1], to=0), ["array: shape [3, 2]", "ascontiguousarray"]),
        (lambda c: c.send(SQUARE.T, to=0), ["array: shape [6, 6] with strides [8, 48]", "C-contiguous"]),
        (lambda c: c.send(np.broadcast_to(1.0, 4), to=0), ["array: shape [4] with strides [0]"]),
        (lambda c: c.send("text", to=0), ["array: a str", "numpy arrays"]),
        (lambda c: c.send(np.array([None, {}]), to=0), ["array:", "references"]),
        (lambda c: c.send(np.zeros(2, "M8[s]"), to=0), ["array: a ndarray", 'view("int64")']),
        (lambda c: c.send(SQUARE, to=1), ["to: no rank 1; allowed: 0 to 0"]),
        (lambda c: c.send(SQUARE, to=0, tag=-1), ["tag: -1; allowed: 0 to"]),
        (lambda c: c.recv(SQUARE, source=-2), ["source: no rank -2"]),
        (lambda c: c.recv(b"bytes"), ["array: it is read-only"]),
        (lambda c: c.allreduce(SQUARE, np.zeros(3)), ["recv: 24 B for a result of 288 B"]),
        (lambda c: c.allreduce(np.zeros(3, "u1"), np.zeros(3, "u1")), ["send: elements of format `B`", "float64"]),
        (lambda c: c.allreduce(np.zeros(3, ">f8"), np.zeros(3, ">f8")), ["send: elements of format `>d`"]),
        (lambda c: c.allreduce(np.zeros(3), np.zeros(3), op="mean"), ['op: "mean"', '"sum", "min", "max", "prod"']),
        (lambda c: c.allreduce(np.zeros(3, "i8"), np.zeros(3)), ["recv: elements are float64", "send are int64"]),
        (lambda c: c.allreduce(SQUARE[0, ::2], np.zeros(3)), ["send: a reduction needs its elements in a row"]),
        (lambda c: c.allreduce(SQUARE[0], SQUARE[0:2].reshape(-1)[2:8]), ["recv: it shares memory", "send itself"]),
        (lambda c: c.reduce(SQUARE), ["recv: it is needed at the root"]),
        (lambda c: c.gather(SQUARE, np.zeros(3)), ["recv: 24 B are not 1 parts of 288 B"]),
        (lambda c: c.gatherv(SQUARE, [SQUARE, SQUARE]), ["recv: 2 arrays for 1 ranks"]),
        (lambda c: c.scatterv(None, SQUARE), ["send: it is needed here"]),
        (lambda c: c.alltoall(SQUARE, SQUARE), ["recv: it shares memory with another array; allowed: arrays apart"]),
        (lambda _: hotlink.wait_any([]), ["requests: there is none"]),
        (lambda c: c.alloc((1 << 40) + 1), ["size: 1099511627777; allowed: 0 to"]),
    ],
)
def test_what_cannot_be_is_refused_by_name(what: Callable[[Comm], object], parts: list[str]) -> None:
    text = refused(what)
    assert all(part in text for part in parts), text


def test_elements_stay_whole() -> None:
    halves = refused(lambda c: c.alltoall(np.zeros(3), np.zeros(3)), 2)
    assert "send: 3 elements are no equal parts for 2 ranks" in halves
    mixed = refused(lambda c: c.allgather(np.zeros(2), np.zeros(8, "f4")), 2)
    assert "recv: elements of 4 B, and of 8 B in the other array" in mixed


@pytest.mark.parametrize("via", ["shm", "tcp", "gige"])
def test_all_ranks_hear_of_no_number(via: str) -> None:
    def program(comm: Comm) -> list[float]:
        given = np.array([np.nan if comm.rank == 1 else comm.rank, 0.0 if comm.rank else -0.0])
        least = np.zeros(2)
        comm.allreduce(given, least, op="min")
        return [float(least[0]), float(np.signbit(least[1]))]

    assert str(run(program, 5, via)) == str([[math.nan, 1.0]] * 5)


@pytest.mark.parametrize(
    ("ranks", "via", "counts"),
    [
        (2, "shm", (1, 5000)),
        (3, "shm", (7, 5000)),
        (4, "shm", (1, 7, 5000, 100_000)),
        (3, "tcp", (1, 100_000)),
        (4, "w01-sci-d330", (1, 1000)),
        (5, "qsnet", (7,)),
    ],
)
def test_collectives_agree_with_numpy(ranks: int, via: str, counts: tuple[int, ...]) -> None:
    """Each rank says which of its results differ from numpy's: none."""
    for count in counts:
        assert run(collectives(ranks, count), ranks, via) == [[]] * ranks


def collectives(ranks: int, count: int) -> Callable[[Comm], list[str]]:
    each = [np.random.default_rng(rank).integers(-99, 99, ranks * count) for rank in range(ranks)]
    sizes = [3 + rank * count for rank in range(ranks)]
    ends = np.cumsum(sizes)[:-1]

    def program(comm: Comm) -> list[str]:
        rank, root, mine = comm.rank, ranks - 1, each[comm.rank]
        wrong = []

        def check(name: str, seen: npt.ArrayLike, wanted: npt.ArrayLike) -> None:
            if not np.array_equal(seen, wanted):
                wrong.append(name)

        a = mine.copy()
        comm.bcast(a, root=root)
        check("bcast", a, each[root])
        out = np.zeros_like(mine)
        comm.reduce(mine, out if rank == root else None, op="max", root=root)
        check("reduce", out, np.max(each, axis=0) if rank == root else 0 * out)
        for dtype in ("f8", "f4", "i8", "i4"):
            for op, ufunc in (("sum", np.sum), ("min", np.min), ("max", np.max)):
                out = np.zeros(ranks * count, dtype)
                comm.allreduce(mine.astype(dtype), out, op=op)
                check(f"allreduce {dtype} {op}", out, ufunc(np.array(each), axis=0))
        few = mine % 3 + 1
        out = np.zeros_like(few)
        comm.allreduce(few, out, op="prod")
        check("allreduce prod", out, np.prod([one % 3 + 1 for one in each], axis=0))
        a = mine.copy()
        comm.allreduce(a, a)
        check("allreduce in place", a, np.sum(each, axis=0))

        part = mine[:count]
        parts = np.concatenate([one[:count] for one in each])
        whole = np.zeros(ranks * count, int)
        comm.gather(part, whole if rank == root else None, root=root)
        check("gather", whole, parts if rank == root else 0 * whole)
        a = np.zeros(count, int)
        comm.scatter(mine if rank == root else None, a, root=root)
        check("scatter", a, each[root][rank * count :][:count])
        whole = np.zeros(ranks * count, int)
        comm.allgather(part, whole)
        check("allgather", whole, parts)
        comm.alltoall(mine, whole)
        check("alltoall", whole, np.concatenate([one[rank * count :][:count] for one in each]))

        whole, own = np.zeros(sum(sizes), int), np.full(sizes[rank], rank)
        wanted = np.repeat(np.arange(ranks), sizes)
        comm.gatherv(own, np.split(whole, ends) if rank == 0 else None)
        check("gatherv", whole, wanted if rank == 0 else 0 * whole)
        comm.allgatherv(own, np.split(whole, ends))
        check("allgatherv", whole, wanted)
        a = np.zeros(sizes[rank], int)
        comm.scatterv(np.split(wanted, ends) if rank == 0 else None, a)
        check("scatterv", a, own)
        blocks = [np.full(2 + rank + to, 10 * rank + to) for to in range(ranks)]
        seen = [np.zeros(2 + rank + source, int) for source in range(ranks)]
        comm.alltoallv(blocks, seen)
        for source in range(ranks):
            check(f"alltoallv from {source}", seen[source], np.full(2 + rank + source, 10 * source + rank))

        matrix, columns = np.arange(12 * ranks).reshape(12, ranks) * (rank == 0), np.zeros((12, 2), int)
        comm.scatterv([matrix[:, to] for to in range(ranks)] if rank == 0 else None, columns[:, 1])
        check("scatterv of columns", columns, np.stack([np.zeros(12), np.arange(12) * ranks + rank], axis=1))
        comm.barrier()
        return wrong

    return program


def test_wildcards_and_probes(via: str) -> None:
    def program(comm: Comm) -> object:
        if comm.rank > 0:
            comm.send(np.full(comm.rank, comm.rank), to=0, tag=10 + comm.rank)
            return None
        first = comm.probe(tag=12)
        assert comm.iprobe(source=1, tag=99) is None
        a = np.zeros(first.bytes // 8, int)
        exact = comm.recv(a, source=first.source, tag=first.tag)
        rest = [comm.recv(np.zeros(8, int), source=hotlink.ANY_SOURCE, tag=hotlink.ANY_TAG) for _ in range(2)]
        told = [(status.source, status.tag, status.bytes) for status in (exact, *rest)]
        return a.tolist(), told[0], sorted(told[1:])

    assert run(program, 4, via)[0] == ([2, 2], (2, 12, 16), [(1, 11, 8), (3, 13, 24)])


def test_requests_are_waited_for_tested_and_forgotten(via: str) -> None:
    def program(comm: Comm) -> object:
        peer = 1 - comm.rank
        arrays = [np.zeros(4) for _ in range(3)]
        requests = [comm.irecv(array, source=peer, tag=tag) for tag, array in enumerate(arrays)]
        comm.irecv(np.zeros(1000), source=peer, tag=99)  # never comes, and nobody keeps it
        assert requests[2].test() is None
        comm.barrier()
        comm.send(np.full(4, 1.0), to=peer, tag=1)
        index, status = hotlink.wait_any(requests)
        assert (index, status.tag) == (1, 1)
        assert hotlink.wait_any(requests)[0] == 1, "what is over stays over"
        comm.barrier()
        sends = [comm.isend(np.full(4, float(tag)), to=peer, tag=tag) for tag in (2, 0)]
        while requests[2].test() is None:
            pass
        hotlink.wait_all([requests[0], *sends])
        return [array[0] for array in arrays]

    assert run(program, 2, via) == [[0.0, 1.0, 2.0]] * 2


def test_segments_are_memory_like_any_other_and_outlive_their_program(via: str) -> None:
    def program(comm: Comm) -> object:
        peer = 1 - comm.rank
        first, second = (np.frombuffer(comm.alloc(8 * 100_000), int) for _ in range(2))
        assert not first.any()
        first[:] = np.arange(100_000) + comm.rank
        hotlink.wait_all([comm.irecv(second, source=peer), comm.isend(first, to=peer)])
        assert (second == np.arange(100_000) + peer).all()
        hotlink.wait_all([comm.irecv(second[1::2], source=peer), comm.isend(first[:50_000], to=peer)])
        assert (second[1::2] == np.arange(50_000) + peer).all()
        assert (second[::2] == np.arange(100_000)[::2] + peer).all()
        comm.allreduce(first, second)
        comm.bcast(first[7:9], root=1)
        assert len(comm.alloc(0)) == 0
        places = {np.frombuffer(comm.alloc(5000), np.uint8).ctypes.data for _ in range(9)}
        assert len(places) == 1 or via != "shm", "what has no view any more is given back"
        return first[:10], int(second[-1])

    for first, last in run(program, 2, via):
        assert first.tolist() == [*range(comm_rank(first), comm_rank(first) + 7), 8, 9, 9 + comm_rank(first)]
        assert last == 2 * 99_999 + 1


def test_memory_is_of_the_kind_and_alignment_asked_for(via: str) -> None:
    def program(comm: Comm) -> object:
        peer = 1 - comm.rank
        for kind in ("default", "private"):
            for align in ("default", "none", 4096):
                first, second = (np.frombuffer(comm.alloc(8 * 50_000, kind, align), int) for _ in range(2))
                assert align != 4096 or via != "shm" or first.ctypes.data % 4096 == 0
                first[:] = comm.rank
                hotlink.wait_all([comm.irecv(second, source=peer), comm.isend(first, to=peer)])
                assert (second == peer).all()
        for wrong in (("heap", "default"), ("default", "page"), ("default", 3)):
            with pytest.raises(ValueError, match="allowed:"):
                comm.alloc(8, *wrong)
        return True

    assert all(run(program, 2, via))


def comm_rank(first: npt.NDArray[np.int_]) -> int:
    return int(first[0])


def test_a_message_too_long_is_an_error(via: str) -> None:
    def program(comm: Comm) -> object:
        if comm.rank == 0:
            comm.send(np.arange(4), to=1)
            return None
        a = np.zeros(2, int)
        with pytest.raises(hotlink.TruncatedError, match=r"sent 32 B with tag 0.*room for 16 B"):
            comm.recv(a)
        return a.tolist()

    assert run(program, 2, via)[1] == [0, 1]


def test_the_page_says_what_its_examples_print() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "python-messages.md").read_text()
    examples = [part.split("```")[0] for part in page.split("```python\n")[1:]]
    script = "".join(examples)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    first, second = done.stdout.splitlines()
    assert examples[0].endswith(f"# {first}\n")
    sender_us, receiver_us = json.loads(second)
    assert 0 < sender_us <= receiver_us


def test_a_simulated_program_takes_the_same_simulated_time_again() -> None:
    """And that of the command's ping-pong, but for what the first message sets up."""

    def program(comm: Comm) -> float:
        a = np.zeros(128 << 10, "u1")
        for _ in range(2):
            start = comm.time()
            comm.compute(0.001 * comm.rank)
            if comm.rank == 0:
                comm.send(a, to=1)
                comm.recv(a, source=1)
            else:
                comm.recv(a, source=0)
                comm.send(a, to=0)
        return comm.time() - start

    times = run(program, 2, "w01-sci-d330")
    assert times == run(program, 2, "w01-sci-d330")
    words = ("simulate", "pingpong", "--fabric", "w01-sci-d330", "--size", "128KiB", "--memory", "registered")
    # In a process of its own: threads of the command's that it leaves would be missed by processes forked from here.
    command = [sys.executable, "-m", "hotlink", *words, "--json"]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    latency_us = json.loads(told.stdout)["records"][0]["latency_us"]
    assert (times[0] - 0.001) / 2 * 1e6 == pytest.approx(latency_us, rel=0.02)


def test_a_communicator_serves_its_own_thread_alone(via: str) -> None:
    def program(comm: Comm) -> object:
        refused: list[str] = []

        def call() -> None:
            with pytest.raises(hotlink.CommError) as refusal:
                comm.barrier()
            refused.append(str(refusal.value))

        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        comm.barrier()
        return refused

    assert run(program, 2, via) == [["a communicator serves its rank's own thread alone"]] * 2


def test_ranks_share_nothing_but_messages(via: str) -> None:
    told: list[int] = []

    def program(comm: Comm) -> list[int]:
        told.append(comm.rank)
        comm.barrier()
        return told

    assert run(program, 3, via) == [[0], [1], [2]]
    assert told == []


def test_a_fabric_that_is_none_is_refused_before_any_program_ends() -> None:
    with pytest.raises(hotlink.InputError, match=r"via: .*no-such-fabric.*real ranks"):
        run(lambda comm: comm.barrier(), 2, "no-such-fabric")
    with pytest.raises(hotlink.InputError, match="ranks"):
        run(lambda comm: comm.barrier(), 3, "k98-sci:2")
    with pytest.raises(hotlink.InputError, match="0 ranks: 1 or more are allowed"):
        run(lambda comm: comm.barrier(), 0, "k98-sci")


def test_who_waits_for_whom_for_ever_is_told_by_the_simulation() -> None:
    with pytest.raises(hotlink.CommError, match=r"no progress: .*rank 1"):
        run(lambda comm: comm.recv(np.zeros(1), source=1 - comm.rank), 2, "sci-torus2d")


def test_a_program_runs_while_links_fail(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"

    def took(comm: Comm) -> float:
        block = np.zeros(1 << 20, np.uint8)
        if comm.rank == 0:
            comm.send(block, to=1)
        else:
            comm.recv(block, source=0)
        return comm.time()

    def slowest(faults: Path | None) -> float:
        return max(hotlink.run(took, 2, "ib-ndr-fat-tree2", limit=LIMIT_S, faults=faults))

    link = 'at_us = 0\nlink = "NDR link node 0 -> switch"\n'
    plan.write_text(f'[[fault]]\n{link}state = "degraded"\nrate = 0.1\n')
    # 1 MiB at a tenth of 50 GB/s.
    assert slowest(None) < (1 << 20) / 5e9 < slowest(plan)
    plan.write_text(f'[[fault]]\n{link}state = "down"\n')
    with pytest.raises(hotlink.CommError, match=r"plan\.toml"):
        slowest(plan)
    with pytest.raises(hotlink.InputError, match="simulated fabric"):
        hotlink.run(took, 2, "shm", faults=plan)
