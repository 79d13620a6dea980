"""Which network to buy: variants for a number of hosts, the cost and bandwidth of each, and the best of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import fspath
from typing import Any, Literal, TypedDict, Unpack

from hotlink import _core
from hotlink.questions import Numbers, Path, Size, _call, _numbers, _result, _some, as_json
from hotlink.result import Result

Part = Literal["cable", "switch"]
Collective = Literal["alltoall", "allreduce", "allgather", "reduce-scatter", "bcast", "reduce"]


class Floor(TypedDict, total=False):
    """How racks stand, for `design`. Without one the command's default counts; every record names it."""

    hosts_per_rack: int  # hosts of a rack
    switches_per_rack: int  # switches of a rack that holds no hosts
    racks_per_row: int  # racks of a row
    rack_width: float  # metres from a rack to the next of its row
    row_pitch: float  # metres from a row to the next
    slack: float  # metres that a cable has more at each end
    copper_reach: float  # metres of the longest copper cable


def design(
    hosts: Numbers,
    *,
    technology: str | Iterable[str] = ("infiniband", "roce", "slingshot"),
    oversubscription: float | str | Iterable[float | str] = 1.0,
    gpus_per_host: int | None = None,
    links_per_host: int = 1,
    prices: Path | None = None,
    max_cost: float | None = None,
    max_power: float | None = None,
    max_racks: int | None = None,
    max_cable: float | None = None,
    min_share: Mapping[str, float] | None = None,
    survive: Mapping[Part, float] | None = None,
    collective: Collective | Iterable[Collective] = ("allreduce", "alltoall"),
    size: Size = "1MiB",
    samples: int = 5,
    seed: int = 1,
    simulate: bool = False,
    why: str | None = None,
    out: Path | None = None,
    **floor: Unpack[Floor],
) -> Result:
    """Networks of the asked technologies for ``hosts`` hosts, and the front that no other beats.

    They are trees of two and three levels, dragonflies, Dragonfly+, HyperX, and rails where hosts hold GPUs.
    ``technology`` names technologies, or fabrics of the catalog or files whose links, switches and prices to take.
    ``oversubscription`` is ports towards hosts over ports towards other switches. With ``links_per_host`` each host, or
    each of its GPUs, has so many cables, and nodes are their ports. `Floor` lists how racks stand.

    ``max_cost`` is in the currency of the prices, ``max_power`` in kilowatts, ``max_cable`` in metres. ``min_share``
    maps a traffic pattern to the least share of a node's injection. ``survive`` maps "cable" or "switch" to the share
    of the bandwidth that is left after one failed. ``why`` names a variant: its record then names in ``why`` what beat
    it. With ``out``, each variant is written as a fabric file that `compare` and the other functions take. The front is
    written as a page, front.html.

    Records of ``kind`` "variant" hold pieces, racks, cost with its interval, power, and shares of a node's injection (0
    to 1). They also hold the shares left after failures, times of collectives in microseconds, ``meets``, ``front`` and
    ``beaten_by``. Other kinds:

    - "item": the lines of their bills.
    - "cables": those of each length class.
    - "step": what is bought and which cables move from one number of hosts to the next.
    - "constraint": which limits bind.
    - "left-out": what cannot be built, and why.

    Limits that no variant keeps are no error: ``binds`` marks them. Raises `InputError`.

    >>> import hotlink
    >>> found = hotlink.design(128, technology="infiniband")
    >>> [record["fabric"] for record in found if record["kind"] == "variant" and record["front"]]
    ['infiniband-128-hyperx1-1to1']
    """
    unknown = [name for name in floor if name not in Floor.__annotations__]
    if unknown:
        raise TypeError(f"design() has no argument {unknown[0]!r}")
    asked: dict[str, Any] = {
        "hosts": _numbers(hosts),
        "technology": _some("technology", technology),
        "oversubscription": _some("oversubscription", oversubscription),
        "gpus_per_host": gpus_per_host,
        "links_per_host": links_per_host,
        "prices": None if prices is None else fspath(prices),
        "max_cost": max_cost,
        "max_power": max_power,
        "max_racks": max_racks,
        "max_cable": max_cable,
        "min_share": list((min_share or {}).items()),
        "survive": list((survive or {}).items()),
        **{name: floor.get(name) for name in Floor.__annotations__},
        "collective": _some("collective", collective),
        "size": size,
        "samples": samples,
        "seed": seed,
        "simulate": simulate,
        "why": why,
    }
    folder = None if out is None else fspath(out)
    text = _core.design(as_json(asked), folder, _call("design", **asked, out=folder))
    return _result("design", text, **asked, out=folder)
