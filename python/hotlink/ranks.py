"""Programs on ranks that pass messages to each other.

Ranks are processes, forked here, so that any function will do as a program; what they share is made by the Rust side
before. They die with this process, and each of them is noticed when it dies. Or a launcher has started them. Ranks on a
simulated fabric take turns with the simulation, which is a thread of this process.
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
from os import PathLike, fspath
from typing import Any, NoReturn, TypeVar

from hotlink import _core
from hotlink._core import Comm, Job

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
        """Takes its output. When it has ended that is all, even if another process holds the pipe open."""
        while self.results is not None:
            try:
                chunk = os.read(self.results, 1 << 20)
            except BlockingIOError:
                if self.status is None:
                    return
                chunk = b""
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
        return _rank_error(rank, error, summary, text)


def run_ranks(
    program: Callable[[Comm], T],
    ranks: int | None = None,
    via: str = "shm",
    *,
    limit: float | None = None,
    pin: bool = False,
    copy: str | None = None,
    stall: float | None = 10.0,
    faults: str | PathLike[str] | None = None,
) -> list[T]:
    """See `hotlink.run`."""
    real = via in ("shm", "tcp", "mixed")
    if real and faults is not None:
        raise _core.InputError(f"faults with via={via!r}: they are of a simulated fabric, whose name is given as via")
    if via in ("shm", "mixed"):
        _core.use_copy(copy)
    elif copy is not None:
        raise _core.InputError(f'copy={copy!r} with via={via!r}: only "shm" and "mixed" take it')
    started = _core.launched() if real else None
    ranks = ranks if ranks is not None else started
    if ranks is None:
        raise _core.InputError("ranks: say how many; only under mpirun or srun are they all that it started")
    if ranks < 0:
        raise _core.InputError(f"ranks: {ranks}; must be 1 or more")
    if limit is not None and not limit > 0:
        raise _core.InputError(f"limit: {limit}; must be seconds above 0, or None")
    if started is not None:
        told = _core.run_launched(via, ranks, pin, stall, partial(_be_launched, program))
        return [pickle.loads(one) for one in told]
    job = _core.Job(via, ranks, stall, None if faults is None else fspath(faults))
    heard, failure = _run_forked(program, job, ranks, limit, pin)
    if failure is not None:
        raise failure
    return [pickle.loads(one) for one in heard]


def _run_forked(
    program: Callable[[Comm], Any], job: Job, ranks: int, limit: float | None, pin: bool
) -> tuple[list[bytearray], Exception | None]:
    """The ranks' output, and their errors: not raised here, as its traceback would keep the ranks' shared state."""
    processes: list[_Rank] = []
    try:
        _fork(program, job, ranks, pin, processes)
        job.begin()
        failure = _supervise(job, processes, limit)
        return [process.heard for process in processes], failure
    finally:
        for process in processes:
            process.close()
            if process.status is None:
                os.kill(process.pid, signal.SIGKILL)
                process.reap(0)


def _be_launched(program: Callable[[Comm], Any], comm: Comm) -> bytes:
    """The program of a rank that a launcher started: if it raises, the process ends, as others wait for the rank."""
    try:
        told = pickle.dumps(program(comm))
        comm._close()
    except BaseException:
        traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
    return told


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
            os.set_blocking(ours, False)
            processes.append(_Rank(pid, ours))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _supervise(job: Job, processes: list[_Rank], limit: float | None) -> Exception | None:
    """Returns when all have ended, or should have: the end of the first that did not end well."""
    start = time.monotonic()
    deadline = None
    failures: list[RankError] = []
    while any(process.status is None for process in processes):
        pipes = {process.results: process for process in processes if process.results is not None}
        # Not select: its descriptors end at 1023.
        poll = select.poll()
        for pipe in pipes:
            poll.register(pipe, select.POLLIN)
        for ready, _ in poll.poll(_LOOK_S * 1000):
            pipes[ready].read()
        now = time.monotonic()
        for rank, process in enumerate(processes):
            if process.reap() and process.status != 0:
                job.bury(rank)
                process.read()
                failures.append(process.failure(rank))
                deadline = deadline or now + _GRACE_S
        if deadline is not None and now > deadline:
            break
        try:
            stuck = None if failures else job.stuck([process.status == 0 for process in processes])
        except _core.InputError as error:
            return error.with_traceback(None)
        if stuck is not None:
            return _core.CommError(f"no progress: {stuck}")
        if limit is not None and now - start > limit:
            return TimeoutError(f"ranks still run after the {limit:g} s allowed")
    for process in processes:
        if process.status is not None:
            process.read()
    return _to_blame(failures) if failures else None


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
    texts = _told(error)
    try:
        told = pickle.dumps((error.with_traceback(None), *texts))
        pickle.loads(told)
    except Exception:
        told = pickle.dumps((None, *texts))
    return told


def _told(error: BaseException) -> tuple[str, str]:
    """One line, and the whole traceback."""
    summary = "".join(traceback.format_exception_only(error)).splitlines()[0]
    return summary, "".join(traceback.format_exception(error))


def _rank_error(rank: int, error: BaseException | None, summary: str, text: str) -> RankError:
    failure = RankError(rank, f"raised {summary}")
    failure.add_note(f"In rank {rank}:\n{text}")
    failure.__cause__ = error
    return failure


def _to_blame(failures: list[RankError]) -> RankError:
    """The first, but not who only missed another."""
    return next((one for one in failures if not isinstance(one.__cause__, _core.PeerGoneError)), failures[0])
