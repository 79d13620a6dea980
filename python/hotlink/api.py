"""The command's verbs as functions.

Each hands its arguments to the Rust command line, so that both faces read the same options the same way.
"""

from collections.abc import Callable, Iterable
from os import PathLike, fspath
from typing import Any, TypeVar, overload

from hotlink import _core
from hotlink.ranks import run_ranks
from hotlink.result import Result

Path = str | PathLike[str]
Numbers = int | str | Iterable[int]
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
) -> list[T]: ...
def run(*arguments: Any, **options: Any) -> Any:
    """Runs a verb of the command, or a program on ranks.

    With words, any verb: ``run("catalog", "list")``. The arguments are those of the command.

    With a function, `ranks` ranks each call it with their `Comm`; gives what they returned, in order of rank. `via`
    says what carries the messages:

    - ``"shm"`` (shared memory) and ``"tcp"``: the ranks are processes of this machine, forked from this one (or those
      that ``mpirun`` or ``srun`` started this one among; then `ranks` may be left out, every process gets all results,
      and a rank that raises ends its process). `pin` binds each to a core of its own, if there are enough. Results are
      pickled. `copy` says how long messages move over shared memory: ``"auto"`` (what this machine was measured to do,
      once; the default where ``HOTLINK_COPY`` says nothing), ``"ring"``, ``"stream"``, ``"system"`` or ``"halves"``.
    - a fabric, by name or file: the ranks are nodes of it, simulated, and `Comm.time` is the simulation's. Here they
      are threads that take turns, so all share what the program shares. An array is ordinary memory that is registered
      once for each size; what the program does between its messages takes no time but by `Comm.compute`.

    The ranks are ended after `limit` seconds (`TimeoutError`; a launcher's by the launcher). When a rank raises or
    dies, the others are told (`PeerGoneError`) and ended within a second, and `RankError` is raised here.

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
    return Result.from_json(_core.json(["hotlink", *(fspath(argument) for argument in arguments)]))


def analyze(
    fabric: Path,
    nodes: Numbers,
    *,
    traffic: str = "all-to-all",
    capacities: str = "measured",
    method: str = "both",
    size: int | str | None = None,
    samples: int | None = None,
    seed: int | None = None,
    links: bool = False,
) -> Result:
    """Bandwidth per node of one fabric by closed form and by load count, with what limits it.

    ``fabric`` is a name from the catalog or a file (TOML fabric, JSON graph); ``nodes`` a number, several, or the
    command's own notation (``"2..128"``). Raises `InputError` where the command would exit with status 2.
    """
    options = _options(traffic=traffic, capacities=capacities, method=method, size=size, samples=samples, seed=seed)
    return run("analyze", fabric, *_nodes(nodes), *options, *(["--links"] if links else []))


def compare(
    fabrics: Iterable[Path] | Path,
    nodes: Numbers,
    *,
    traffic: str = "all-to-all",
    capacities: str = "measured",
    size: int | str | None = None,
    prices: Path | None = None,
    out: Path | None = None,
) -> Result:
    """Bandwidth per node, what limits it, and cost of several fabrics at each size; the best of each; crossovers.

    ``prices`` is a price file, or a list of the catalog, that overrides the fabrics' own. With ``out``, the tables and
    data are also written to that folder, as by ``hotlink compare --out``; plots are made from the result: see
    `Result.plot` and `Result.save_plots`.
    """
    names = [fabrics] if isinstance(fabrics, str | PathLike) else list(fabrics)
    options = _options(traffic=traffic, capacities=capacities, size=size, prices=prices, out=out)
    return run("compare", *names, *_nodes(nodes), *options)


def _nodes(nodes: Numbers) -> list[str]:
    listed = str(nodes) if isinstance(nodes, int | str) else ",".join(str(int(n)) for n in nodes)
    return [f"--nodes={listed}"]


def _options(**values: Path | int | None) -> list[str]:
    given = {name: value for name, value in values.items() if value is not None}
    return [f"--{name}={value if isinstance(value, int) else fspath(value)}" for name, value in given.items()]
