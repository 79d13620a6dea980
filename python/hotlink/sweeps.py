"""A sweep's cells on any engine that looks like ``concurrent.futures``: local processes, Dask, MPI.

>>> import hotlink
>>> from concurrent.futures import ProcessPoolExecutor
>>> result = hotlink.sweep("plan.toml", ProcessPoolExecutor(8), out="cells")  # doctest: +SKIP
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Literal, cast

from hotlink import _core
from hotlink.questions import _result
from hotlink.result import Record, Result

Arguments = list[str]
# Cells handed over at once, for each worker where their number is known. They are enough to keep all busy, and so few
# that a broken pool leaves few under suspicion.
AHEAD = 2
AHEAD_OF_UNKNOWN = 64


def sweep(
    plan: str | PathLike[str],
    executor: Executor | Callable[[], Executor] | None = None,
    *,
    out: str | PathLike[str] | None = None,
    retries: int = 2,
    progress: Callable[[int, int], object] | None = None,
) -> Result:
    """Run every cell of a plan and return all records in the plan's order.

    ``executor`` is any executor of the ``concurrent.futures`` kind (``ProcessPoolExecutor``, Dask's
    ``client.get_executor()``, ``mpi4py.futures.MPIPoolExecutor``), or a function that makes one. Without it the cells
    run in this process, on all cores. Its workers need the same version of hotlink, and the files that the plan names
    under the same paths. ``out`` keeps finished cells, which are not run again: as ``hotlink sweep --out``.

    A worker that dies costs its cell a retry, up to ``retries`` of them. A broken process pool is replaced, any other
    only if ``executor`` is a function. A cell without a result is a record with ``error`` in the result. Cells that
    measure run before all others, one at a time. ``progress`` is called with the cells done and the cells in all.
    """
    if executor is None:
        return _swept(plan, None if out is None else Path(out), "run")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch if out is None else out)
        folder.mkdir(parents=True, exist_ok=True)
        cells = _swept(plan, folder, "list")
        engine = Engine(executor, folder, retries, progress or (lambda _done, _total: None))
        engine.run(cells)
        return engine.explain(_swept(plan, folder, "gather"))


def _swept(plan: str | PathLike[str], out: Path | None, cells: Literal["run", "list", "gather"]) -> Result:
    folder = None if out is None else os.fspath(out)
    text = _core.sweep(os.fspath(plan), folder, cells)
    return _result("sweep", text, plan=os.fspath(plan), out=folder)


def run_cell(arguments: Arguments) -> tuple[str, bool]:
    """Run one cell in a worker: the text of its file and True, or what was wrong with its input and False."""
    try:
        return _core.cell(arguments), True
    except _core.InputError as error:
        return str(error), False


@dataclass(frozen=True)
class Cell:
    """One command line, and the name of its file."""

    key: str
    arguments: tuple[str, ...]


@dataclass
class Engine:
    """Hands cells to an executor, keeps what comes back, and hands over again what got lost."""

    source: Executor | Callable[[], Executor]
    folder: Path
    retries: int
    progress: Callable[[int, int], object]
    errors: dict[str, str] = field(default_factory=dict)
    lost: Counter[Cell] = field(default_factory=Counter)
    under_way: dict[Future[tuple[str, bool]], Cell] = field(default_factory=dict)
    done: int = 0
    total: int = 0

    def __post_init__(self) -> None:
        """Make the executor where a function was given."""
        self.owned = not isinstance(self.source, Executor)
        self.executor = self.source if isinstance(self.source, Executor) else self.source()

    def run(self, listed: Iterable[Record]) -> None:
        """Run every cell that is not finished: those that measure first and alone, then the rest."""
        cells: dict[bool, dict[Cell, None]] = {True: {}, False: {}}
        for record in listed:
            self.total += 1
            if record["finished"]:
                self.done += 1
            else:
                arguments = cast(list[str], record["arguments"])
                cells[bool(record["measured"])][Cell(str(record["cell"]), tuple(arguments))] = None
        try:
            self.drain(deque(), suspects=deque(cells[True]))
            self.drain(deque(cells[False]), suspects=deque())
        finally:
            for future in self.under_way:
                future.cancel()
            if self.owned:
                self.executor.shutdown(cancel_futures=True)

    def drain(self, waiting: deque[Cell], suspects: deque[Cell]) -> None:
        """Run the waiting cells, many at once; suspects, one of which may have killed a worker, one at a time."""
        while waiting or suspects or self.under_way:
            alone = bool(suspects)
            room = 1 if alone else self.room()
            queue = suspects if alone else waiting
            broken: list[Cell] = []
            while queue and len(self.under_way) < room and not broken:
                broken += self.submit(queue.popleft())
            finished, _ = wait(self.under_way, return_when=FIRST_COMPLETED) if self.under_way else (set(), set())
            for future in finished:
                broken += self.take(future, self.under_way.pop(future))
            if broken:
                # A broken pool fails everything that it was given: only by itself does a cell show that it kills.
                broken += self.under_way.values()
                self.under_way.clear()
                self.replace_executor()
                suspects.extend(cell for cell in broken if self.may_retry(cell, counts=alone))

    def room(self) -> int:
        """Count the cells that may be under way."""
        workers = getattr(self.executor, "_max_workers", None)
        return AHEAD * workers if isinstance(workers, int) and workers > 0 else AHEAD_OF_UNKNOWN

    def submit(self, cell: Cell) -> list[Cell]:
        """Hand a cell over; it comes back if the pool broke meanwhile."""
        try:
            future = self.executor.submit(run_cell, list(cell.arguments))
        except BrokenExecutor:
            return [cell]
        self.under_way[future] = cell
        return []

    def take(self, future: Future[tuple[str, bool]], cell: Cell) -> list[Cell]:
        """Keep what a cell gave; it comes back if the pool broke under it."""
        try:
            text, ok = future.result()
        except BrokenExecutor:
            return [cell]
        # Whatever else an engine raises for a lost worker: its own exception, a cancellation, a lost connection.
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            if self.may_retry(cell, counts=True, why=f"{type(error).__name__}: {error}"):
                return self.submit(cell)
            return []
        if not ok:
            self.errors[cell.key] = text
        elif json.loads(text)["cell"] != cell.key and cell.arguments[0] != "measure":
            self.errors[cell.key] = "the worker has another version of hotlink, or other files under the same names"
        else:
            self.save(cell, text)
        self.tick()
        return []

    def may_retry(self, cell: Cell, *, counts: bool, why: str = "its worker died") -> bool:
        """Whether a lost cell is handed over again; else it is an error."""
        self.lost[cell] += counts
        if self.lost[cell] <= self.retries:
            return True
        self.errors[cell.key] = f"{why} ({self.lost[cell]} times)"
        self.tick()
        return False

    def tick(self) -> None:
        """Report that one more cell is done."""
        self.done += 1
        self.progress(self.done, self.total)

    def replace_executor(self) -> None:
        """Make a new executor in place of a broken one."""
        broken = self.executor
        broken.shutdown(wait=False, cancel_futures=True)
        if not isinstance(self.source, Executor):
            self.executor = self.source()
        elif isinstance(broken, ProcessPoolExecutor):
            workers, context = getattr(broken, "_max_workers", None), getattr(broken, "_mp_context", None)
            self.executor, self.owned = ProcessPoolExecutor(workers, context), True
        else:
            raise BrokenExecutor(
                f"{type(broken).__name__} broke and cannot be made anew: hand over a function that makes it; "
                "with out=, finished cells are kept"
            )

    def save(self, cell: Cell, text: str) -> None:
        """Keep a finished cell: under another name first, so that a file is whole or not there."""
        partial = self.folder / f".{cell.key}.{os.getpid()}"
        partial.write_text(text, encoding="utf-8")
        partial.rename(self.folder / f"{cell.key}.json")

    def explain(self, result: Result) -> Result:
        """Add the engine's knowledge to cells without a result; report workers that see something else."""
        for record in result:
            if "error" in record and isinstance(key := record.get("cell"), str):
                record["error"] = self.errors.get(key, record["error"])
        if self.errors:
            print(f"hotlink: {len(self.errors)} cells have no result; each is a record with its error", file=sys.stderr)
        return result
