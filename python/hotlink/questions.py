"""Questions to the models and simulators, by values: no command line stands between Python and the engines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import Any, Literal

from hotlink import _core
from hotlink.result import Result

Path = str | PathLike[str]
Numbers = int | str | Iterable[int]
Size = int | str
Capacities = Literal["measured", "theoretical"]
Paths = Literal["packet", "flow", "destination", "adaptive"]
Method = Literal["formula", "load", "loggp", "packet", "both", "all"]
Fault = Literal["busy", "late", "scarce"]

_METHODS = {"both": ["formula", "load"], "all": ["formula", "load", "loggp", "packet"]}


def analyze(
    fabric: Path,
    nodes: Numbers | None = None,
    *,
    traffic: str = "all-to-all",
    capacities: Capacities = "measured",
    method: Method = "both",
    size: Size = "1MiB",
    samples: int = 100,
    seed: int = 1,
    paths: Paths | None = None,
    technology: str | None = None,
    links: bool = False,
) -> Result:
    """Bandwidth per node of one fabric by closed form and by load count, with what limits it.

    ``fabric`` is a name from the catalog or a file (TOML fabric, JSON graph). ``nodes`` is a number, several, or the
    command's notation (``"2..128"``); a graph has its own. ``size`` is bytes, or text with a unit (``"64KiB"``).
    ``samples`` draws of random ``traffic`` are taken from ``seed``. ``method="all"`` asks every engine that can answer.

    One record for each number of nodes and engine: ``bandwidth_per_node_MBps`` (10^6 bytes a second), ``efficiency``
    (0 to 1), ``limiting_resource``, ``hot_link``; with ``links`` also one for each resource. Raises `InputError`.
    """
    pattern = _pattern(traffic, capacities, size, samples, seed, paths, technology)
    listed = None if nodes is None else _numbers(nodes)
    text = _core.analyze(fspath(fabric), listed, _METHODS.get(method, [method]), pattern, links)
    return _result("analyze", text, fabric=fspath(fabric), nodes=listed, method=method, **pattern)


def compare(
    fabrics: Iterable[Path] | Path,
    nodes: Numbers = "2..128",
    *,
    traffic: str = "all-to-all",
    capacities: Capacities = "measured",
    method: Literal["formula", "load"] = "load",
    size: Size = "1MiB",
    samples: int = 100,
    seed: int = 1,
    paths: Paths | None = None,
    technology: str | None = None,
    prices: Path | None = None,
    across_eras: bool = False,
    out: Path | None = None,
) -> Result:
    """Bandwidth per node, what limits it, and cost of several fabrics at each size; the best of each; crossovers.

    Records of ``kind`` "fabric" hold bandwidths in MB/s and costs in the list's currency (``cost_USD``); those of
    ``kind`` "crossover" tell from which number of nodes on another fabric leads. ``prices`` is a price file, or a
    list of the catalog, that overrides the fabrics' own. Prices of different years are ranked together only with
    ``across_eras``. With ``out``, tables and data are also written to that folder, as by ``hotlink compare --out``;
    plots are made from the result: see `Result.plot` and `Result.save_plots`. Raises `InputError`.
    """
    names = [fspath(fabrics)] if isinstance(fabrics, str | PathLike) else [fspath(fabric) for fabric in fabrics]
    pattern = _pattern(traffic, capacities, size, samples, seed, paths, technology)
    list_of_prices = None if prices is None else fspath(prices)
    folder = None if out is None else fspath(out)
    listed = _numbers(nodes)
    text = _core.compare(names, listed, pattern, method, list_of_prices, across_eras, folder)
    return _result("compare", text, fabrics=names, nodes=listed, method=method, prices=list_of_prices, **pattern)


def simulate(
    benchmark: str,
    fabric: Path,
    nodes: Numbers | None = None,
    *,
    size: Size | Iterable[Size] = "64KiB",
    algorithm: str | None = None,
    memory: str = "regular",
    cache: str = "lru",
    zero_copy: bool = True,
    via: Literal["adapter", "tcp"] = "adapter",
    stack: Literal["packet", "message"] | None = None,
    capacities: Capacities = "measured",
    paths: Paths | None = None,
    technology: str | None = None,
    seed: int = 1,
    pairs: int | None = None,
    direction: Iterable[Literal["uni", "bi", "self"]] = ("uni", "bi"),
    window: int | None = None,
    traffic: str = "uniform",
    load: float | Iterable[float] = 1.0,
    class_: Literal["S", "W", "A", "B", "C"] = "S",
    sensitivity: bool = False,
    trace: Path | None = None,
    count: bool = False,
    inject: Mapping[Fault, int] | None = None,
    inject_seed: int = 1,
) -> Result:
    """A benchmark in virtual time: packet by packet on a fabric, LogGP on a machine that was calibrated as one.

    ``benchmark`` is pingpong, stream, rate, pairs, semantics, saturation, kernel, is, traffic, or a collective
    (barrier, bcast, reduce, allreduce, allgather, alltoall, alltoallv, gather, scatter). ``size`` is bytes, text
    with a unit, or several. ``algorithm``, ``memory``, ``cache``, ``zero_copy``, ``via`` and the observers ask for
    the message stack; otherwise pingpong and alltoall send bare packets, which ``stack`` decides, too. ``pairs`` is
    for saturation and rate; ``direction`` and ``window`` for stream; ``traffic`` and ``load`` (share of the bound)
    for traffic; ``class_`` for is.

    ``trace`` names a file for the ranks' timeline (Chrome trace events, which Perfetto opens), ``count`` adds how many
    operations the ports had, ``inject`` gives percentages (1 to 90) of faults, drawn from ``inject_seed``.

    Records hold ``latency_us`` (microseconds) or ``bandwidth_MBps`` (10^6 bytes a second), the bound (``bound_*``),
    ``efficiency`` (0 to 1) and ``limiting_resource``. Raises `InputError`.

    >>> import hotlink
    >>> hotlink.simulate("alltoall", fabric="sci-torus2d", nodes=16, size="64KiB")[0]["method"]
    'packet'
    """
    asked: dict[str, Any] = {
        "benchmark": benchmark,
        "fabric": fspath(fabric),
        "nodes": None if nodes is None else _numbers(nodes),
        "size": size if isinstance(size, int | str) else list(size),
        "algorithm": algorithm,
        "memory": memory,
        "cache": cache,
        "zero_copy": zero_copy,
        "via": via,
        "stack": stack,
        "capacities": capacities,
        "paths": paths,
        "technology": technology,
        "seed": seed,
        "pairs": pairs,
        "direction": list(direction),
        "window": window,
        "traffic": traffic,
        "load": [load] if isinstance(load, int | float) else list(load),
        "class": class_,
        "sensitivity": sensitivity,
        "trace": None if trace is None else fspath(trace),
        "count": count,
        "inject": list((inject or {}).items()),
        "inject_seed": inject_seed,
    }
    return _result("simulate", _core.simulate(asked), **asked)


def _pattern(
    traffic: str,
    capacities: str,
    size: Size,
    samples: int,
    seed: int,
    paths: str | None,
    technology: str | None,
) -> dict[str, Any]:
    return {
        "traffic": traffic,
        "capacities": capacities,
        "size": size,
        "samples": samples,
        "seed": seed,
        "paths": paths,
        "technology": technology,
    }


def _numbers(numbers: Numbers) -> int | str | list[int]:
    return numbers if isinstance(numbers, int | str) else [int(number) for number in numbers]


def _result(function: str, text: str, **asked: object) -> Result:
    given = ", ".join(f"{name}={value!r}" for name, value in asked.items() if value is not None)
    return Result(json.loads(text), [f"hotlink.{function}({given})"], {"hotlink": _core.__version__})
