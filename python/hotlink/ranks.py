"""Programs on ranks: each a process of its own that passes messages to the others.

The ranks are forked here, so that any function will do as a program, and what they share is made by the Rust side
before. They die with this process, and each of them is noticed when it dies.
"""

import os
import pickle
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NoReturn, TypeVar

from hotlink._core import Comm, Job, PeerGoneError

T = TypeVar("T")

_GRACE_S = 1.0
"""How long survivors may go on after a death, to notice it and end as they like."""
_LOOK_S = 0.02
"""How often the parent looks for ended ranks when nothing is heard."""


class RankError(RuntimeError):
    """A rank raised an exception (then it is the cause, with the rank's own traceback as a note) or died.

    Example::

        try:
            hotlink.run(program, ranks=4)
        except hotlink.RankError as error:
            print(error.rank, error.__cause__)
    """

    def __init__(self, rank: int, how: str) -> None:
        super().__init__(f"rank {rank} {how}")
        self.rank = rank


class _Rank:
    """The process of a rank, seen from the one that forked it."""

    def __init__(self, pid: int, results: int) -> None:
        self.pid = pid
        self.results: int | None = results
        self.heard = bytearray()
        self.status: int | None = None

    def read(self) -> None:
        """Takes what it has written; at the end there is no more to wait for."""
        if self.results is None:
            return
        chunk = os.read(self.results, 1 << 20)
        self.heard += chunk
        if not chunk:
            self.close()

    def close(self) -> None:
        if self.results is not None:
            os.close(self.results)
            self.results = None

    def reap(self, options: int = os.WNOHANG) -> bool:
        """True when it is seen to have ended just now."""
        if self.status is not None:
            return False
        pid, status = os.waitpid(self.pid, options)
        if pid:
            self.status = os.waitstatus_to_exitcode(status)
        return bool(pid)

    def failure(self, rank: int) -> RankError:
        """Why it ended without a result."""
        if self.status is not None and self.status < 0:
            return RankError(rank, f"was killed by signal {-self.status} ({signal.strsignal(-self.status)})")
        try:
            error, summary, text = pickle.loads(self.heard)
        except Exception:
            return RankError(rank, f"ended with status {self.status} and no result")
        failure = RankError(rank, f"raised {summary}")
        failure.add_note(f"In rank {rank}:\n{text}")
        failure.__cause__ = error
        return failure


def run_ranks(
    program: Callable[[Comm], T], ranks: int, via: str = "shm", *, limit: float | None = None, pin: bool = False
) -> list[T]:
    """See `hotlink.run`."""
    job = Job(via, ranks)
    processes: list[_Rank] = []
    try:
        _fork(program, job, ranks, pin, processes)
        _supervise(job, processes, limit)
        return [pickle.loads(process.heard) for process in processes]
    finally:
        for process in processes:
            process.close()
            if process.status is None:
                os.kill(process.pid, signal.SIGKILL)
                process.reap(0)


def _fork(program: Callable[[Comm], Any], job: Job, ranks: int, pin: bool, processes: list[_Rank]) -> None:
    """Starts the ranks."""
    parent, cores = os.getpid(), sorted(os.sched_getaffinity(0))
    # What is buffered here must not be printed by every rank again.
    sys.stdout.flush()
    sys.stderr.flush()
    # An interrupt waits: what Python does around a fork would swallow it, and no process may go unnoticed.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        for rank in range(ranks):
            ours, theirs = os.pipe()
            pid = os.fork()
            if pid == 0:
                core = cores[rank] if pin and ranks <= len(cores) else None
                _be_rank(program, partial(job.open, rank, parent), theirs, mask, core)
            os.close(theirs)
            processes.append(_Rank(pid, ours))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _supervise(job: Job, processes: list[_Rank], limit: float | None) -> None:
    """Returns when all have ended well; raises what the first did that did not."""
    start = time.monotonic()
    deadline = None
    failures: list[RankError] = []
    while any(process.status is None for process in processes):
        pipes = {process.results: process for process in processes if process.results is not None}
        for ready in select.select(list(pipes), [], [], _LOOK_S)[0]:
            pipes[ready].read()
        now = time.monotonic()
        for rank, process in enumerate(processes):
            if process.reap() and process.status != 0:
                job.bury(rank)
                while process.results is not None:
                    process.read()
                failures.append(process.failure(rank))
                deadline = deadline or now + _GRACE_S
        if deadline is not None and now > deadline:
            break
        if limit is not None and now - start > limit:
            raise TimeoutError(f"ranks still run after the {limit:g} s allowed")
    if failures:
        # Whoever only missed another is not to blame.
        raise next((one for one in failures if not isinstance(one.__cause__, PeerGoneError)), failures[0])
    for process in processes:
        while process.results is not None:
            process.read()


def _be_rank(
    program: Callable[[Comm], Any],
    opened: Callable[[], Comm],
    results: int,
    mask: Iterable[int],
    core: int | None,
) -> NoReturn:
    """The life of a rank's process, which ends here: nothing of the parent's runs in it."""
    status = 1
    try:
        try:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            if core is not None:
                os.sched_setaffinity(0, {core})
            comm = opened()
            told = pickle.dumps(program(comm))
            comm._close()
            status = 0
        except BaseException as error:
            told = _failure(error)
        with os.fdopen(results, "wb") as pipe:
            pipe.write(told)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _failure(error: BaseException) -> bytes:
    """The exception, its summary and traceback as text; without the exception if it cannot travel."""
    summary = "".join(traceback.format_exception_only(error)).splitlines()[0]
    text = "".join(traceback.format_exception(error))
    try:
        told = pickle.dumps((error.with_traceback(None), summary, text))
        pickle.loads(told)
    except Exception:
        told = pickle.dumps((None, summary, text))
    return told
