"""A sweep gives the same records on every engine; a worker that dies costs its cell a retry, not the sweep."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import hotlink
from hotlink.sweeps import Arguments

PLAN = """
[[study]]
name = "exchange"
verb = "simulate alltoall"
fabric = ["sci-ring", "myrinet-clos64"]
nodes = { each = "4..12..+2" }
size = 64
"""
RunCell = Callable[[Arguments], tuple[str, bool]]


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "plan.toml"
    file.write_text(PLAN)
    return file


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[hotlink.Record]:
    file = tmp_path_factory.mktemp("expected") / "plan.toml"
    file.write_text(PLAN)
    return hotlink.sweep(file).records


def die_if(condition: str, marker: str, run_cell: RunCell, arguments: Arguments) -> tuple[str, bool]:
    """Kill this worker, as a node's failure would, if the cell is the one; only once if there is a marker to touch.

    If the marker is a folder, the worker dies when the first finished cell is in it.
    """
    file = Path(marker)
    if condition in arguments and not (marker and file.is_file()):
        while file.is_dir() and marker and not any(file.glob("*.json")):
            time.sleep(0.01)
        if marker and not file.is_dir():
            file.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return run_cell(arguments)


class Deadly(Executor):
    """Hands its work to another executor, with one cell that kills the worker it runs on."""

    def __init__(self, inner: Executor, condition: str, marker: str) -> None:
        self.inner, self.condition, self.marker = inner, condition, marker

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ANN401, D102
        return self.inner.submit(die_if, self.condition, self.marker, fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: D102
        self.inner.shutdown(wait=wait, cancel_futures=cancel_futures)


def test_local_processes_give_the_records_of_the_command(plan: Path, expected: list[hotlink.Record]) -> None:
    told: list[tuple[int, int]] = []
    with ProcessPoolExecutor(2) as pool:
        result = hotlink.sweep(plan, pool, out=plan.parent / "cells", progress=lambda *step: told.append(step))
    assert result.records == expected
    assert told == [(step, 10) for step in range(1, 11)]
    # The files are those that the command keeps: it finds nothing left to do.
    listed = hotlink.run("sweep", plan, "--out", plan.parent / "cells", "--list")
    assert all(cell["finished"] for cell in listed)


def test_a_worker_that_dies_costs_its_cell_a_retry(plan: Path, expected: list[hotlink.Record], tmp_path: Path) -> None:
    marker = tmp_path / "died"
    result = hotlink.sweep(plan, lambda: Deadly(ProcessPoolExecutor(2), "--nodes=8", str(marker)))
    assert marker.exists()
    assert result.records == expected


def test_a_broken_pool_that_was_handed_over_is_replaced(plan: Path, expected: list[hotlink.Record]) -> None:
    with ProcessPoolExecutor(2) as pool:
        pool.submit(os.getpid).result()
        pids = list(getattr(pool, "_processes"))  # noqa: B009
        os.kill(pids[0], signal.SIGKILL)
        assert hotlink.sweep(plan, pool).records == expected


def test_a_cell_that_kills_every_worker_fails_alone(plan: Path, expected: list[hotlink.Record]) -> None:
    condition = "--nodes=8"
    result = hotlink.sweep(plan, lambda: Deadly(ProcessPoolExecutor(2), condition, ""), retries=1)
    bad = [record for record in result if "error" in record]
    assert len(bad) == 2
    assert all("died (2 times)" in str(record["error"]) for record in bad)
    assert [record for record in result if "error" not in record] == [r for r in expected if r["nodes"] != 8]


def test_a_cell_with_bad_input_is_told_and_not_tried_again(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('[[study]]\nverb = "simulate alltoall"\nfabric = "sci-ring"\nnodes = [1, 4]\n')
    with ThreadPoolExecutor(2) as pool:
        result = hotlink.sweep(plan, pool)
    assert "must be 2 or more" in str(result[0]["error"])
    assert result[1]["nodes"] == 4


def test_measurements_run_one_at_a_time(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text('[[study]]\nverb = "measure memory"\nsize = [64, 256]\nstrides = 1\ntime = 0.01\n')
    under_way: list[int] = []

    class Watched(ThreadPoolExecutor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:  # noqa: ANN401
            under_way.append(1)
            assert len(under_way) == 1
            future = super().submit(fn, *args, **kwargs)
            future.add_done_callback(lambda _: under_way.clear())
            return future

    with Watched(2) as pool:
        assert len(hotlink.sweep(plan, pool)) == 2


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A scheduler and two workers, each a process of its own, as on a cluster."""
    folder = tmp_path_factory.mktemp("dask")
    file = folder / "scheduler.json"
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "DASK_DISTRIBUTED__WORKER__DAEMON": "False"}
    worker = ["worker", "--scheduler-file", str(file), "--no-nanny", "--no-dashboard", "--nthreads", "1"]
    scheduler = ["scheduler", "--scheduler-file", str(file), "--port", "0", "--no-dashboard", "--host", "127.0.0.1"]
    processes = []
    for words in (scheduler, worker, worker):
        command = [sys.executable, "-m", "dask", *words]
        log = (folder / f"{words[0]}.log").open("ab")
        processes.append(subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=environment))
    deadline = time.monotonic() + 60
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    yield str(file)
    for process in reversed(processes):
        process.kill()
        process.wait()


def test_dask_workers_take_over_from_a_dead_one(
    dask: str, plan: Path, expected: list[hotlink.Record], tmp_path: Path
) -> None:
    from distributed import Client

    with Client(scheduler_file=dask, timeout=60) as client:
        client.wait_for_workers(2, timeout=60)
        marker = tmp_path / "died"
        pool = Deadly(client.get_executor(), "--nodes=8", str(marker))
        assert hotlink.sweep(plan, pool).records == expected
        assert marker.exists()
        assert len(client.scheduler_info()["workers"]) == 1


MPI_SCRIPT = """
import json, sys
from mpi4py import MPI
from mpi4py.futures import MPIPoolExecutor
import hotlink, test_sweep

if __name__ == "__main__":
    plan, out, condition, marker = sys.argv[1:]
    assert MPI.COMM_WORLD.size == 3
    with MPIPoolExecutor() as pool:
        result = hotlink.sweep(plan, test_sweep.Deadly(pool, condition, marker), out=out)
    print(json.dumps(result.records))
"""


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="no mpirun: apt-get install openmpi-bin")
def test_mpi_futures_under_mpirun(plan: Path, expected: list[hotlink.Record], tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(MPI_SCRIPT)
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).parent),
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }
    cells = tmp_path / "cells"
    cells.mkdir()
    launch = ["mpirun", "-n", "3", sys.executable, "-m", "mpi4py.futures", str(script), str(plan), str(cells)]

    def run(condition: str) -> subprocess.CompletedProcess[str]:
        words = [*launch, condition, str(cells)]
        return subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=120)

    # A rank that dies ends the MPI job, by MPI's own rules; what was finished is kept, and the next job goes on.
    killed = run("--nodes=12")
    assert killed.returncode != 0
    assert "signal 9" in killed.stderr
    assert any(cells.glob("*.json"))
    done = run("none")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.strip().splitlines()[-1]) == expected
