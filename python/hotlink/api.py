"""The command's verbs as functions.

Each hands its arguments to the Rust command line, so that both faces read the same options the same way.
"""

from collections.abc import Iterable
from os import PathLike, fspath

from hotlink import _core
from hotlink.result import Result

Path = str | PathLike[str]
Numbers = int | str | Iterable[int]


def run(*arguments: Path) -> Result:
    """Any verb: ``run("catalog", "list")``. The arguments are those of the command."""
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

    ``prices`` is a price file that overrides the catalog's. With ``out``, the tables and data are also written to that
    folder, as by ``hotlink compare --out``; plots are made from the result: see `Result.plot` and `Result.save_plots`.
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
