"""Programs on ranks, and any verb of the command by its words."""

from collections.abc import Callable
from os import PathLike, fspath
from typing import Any, TypeVar, overload

from hotlink import _core
from hotlink.cli import draw_beside
from hotlink.ranks import run_ranks
from hotlink.result import Result

Path = str | PathLike[str]
T = TypeVar("T")


@overload
def run(*arguments: Path) -> Result: ...
@overload
def run(
    program: Callable[[_core.Comm], T],
    /,
    ranks: int | None = None,
    via: str = "shm",
    *,
    limit: float | None = None,
    pin: bool = False,
    copy: str | None = None,
    stall: float | None = 10.0,
    faults: Path | None = None,
) -> list[T]: ...
def run(*arguments: Any, **options: Any) -> Any:
    """Runs a verb of the command, or a program on ranks.

    With words, any verb: ``run("catalog", "list")``. The arguments are those of the command.

    With a function, `ranks` ranks each call it with their `Comm`; returns their results, in order of rank. `via` names
    the carrier of the messages:

    - ``"shm"`` (shared memory) and ``"tcp"``: the ranks are processes of this machine, forked from this one. Or they
      are those that ``mpirun`` or ``srun`` started this one among. Then `ranks` may be left out, every process gets all
      results, and a rank that raises ends its process. `pin` binds each to a core of its own, if there are enough.
      Results are pickled.
    - a fabric, by name or file: the ranks are nodes of it, simulated, and `Comm.time` is the simulation's. They are
      processes, too, and take turns on one core. An array is ordinary memory at the start of a page, registered when a
      long message first needs that. The program's own work between its messages takes no time but by `Comm.compute`.

    `copy` chooses the route of long messages over shared memory: ``"auto"``, ``"ring"``, ``"stream"``, ``"system"`` or
    ``"halves"``. ``"auto"`` follows measurements of this machine, taken once. It is the default where ``HOTLINK_COPY``
    names none.

    `faults` is a plan of links and switches of the fabric that fail meanwhile, as of `simulate`. Ranks that it cuts off
    are an error.

    The ranks are ended after `limit` seconds (`TimeoutError`; a launcher's by the launcher). When a rank raises or
    dies, the others get `PeerGoneError` and are ended within a second, and `RankError` is raised here.

    When every rank has waited for `stall` seconds and no message is under way, the ranks are ended. The `CommError`
    here names which rank waits for which, in which call, with which tag. ``stall=None`` lets them wait. A rank that
    computes does not wait, however long it takes. Receiving from a rank that has ended is a `CommError` at once.

    Example::

        def program(comm):
            a = np.arange(8.0)
            if comm.rank == 0:
                comm.send(a, to=1, tag=7)
            elif comm.rank == 1:
                comm.recv(a, source=0, tag=7)
            return a.sum()

        hotlink.run(program, ranks=2, via="shm")
        hotlink.run(program, ranks=16, via="w01-sci-d330")
    """
    if arguments and callable(arguments[0]):
        return run_ranks(*arguments, **options)
    if options:
        raise TypeError(f"run of a verb takes the command's words alone, not {', '.join(options)}")
    words = ["hotlink", *(fspath(argument) for argument in arguments)]
    return Result.from_json(_core.json(words, draw_beside))
