"""Questions to the models and simulators, by values: no command line is between Python and the engines."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from operator import index
from os import PathLike, fspath
from typing import Any, Literal, SupportsIndex, TypedDict, Unpack

from hotlink import _core
from hotlink.result import Result

Path = str | PathLike[str]
Numbers = int | str | Iterable[int]
Size = int | str
Capacities = Literal["measured", "theoretical"]
Paths = Literal["packet", "flow", "destination", "adaptive"]
Ways = Paths | Literal["minimal", "valiant", "ugal", "ugal-g"]
Transport = Literal["none", "ecn", "dcqcn", "dctcp", "swift", "nscc", "hpcc", "credits"]
Method = Literal["formula", "load", "loggp", "packet", "both", "all"]
Fault = Literal["busy", "late", "scarce"]

Direction = Literal["uni", "bi", "self"]
SendMode = Literal["restricted", "postal"]
Side = Literal["sender", "receiver"]
Spin = Literal["fixed", "daxpy", "stress", "threads"]
SortClass = Literal["S", "W", "A", "B", "C"]

# Choices that are lists to the library, also where one value is given.
_LISTED = frozenset(("algorithm", "direction", "semantics", "side", "spin", "class_", "series")) | frozenset(
    ("pattern", "generate", "protocol", "test", "nagle", "device", "kind", "setup", "hold")
)


class Variant(TypedDict, total=False):
    """Changes to a fabric, as by the command's options of these names."""

    oversubscription: float | str  # ports of a leaf switch towards nodes over those towards switches: 2, or "2:1"
    radix: int  # ports of a switch
    levels: int  # at most so many levels of switches
    link: str  # this part of the catalog: infiniband-ndr, ethernet-400g, ...


def analyze(
    fabric: Path,
    nodes: Numbers | None = None,
    *,
    traffic: str = "all-to-all",
    capacities: Capacities = "measured",
    method: Method = "both",
    size: Size | None = None,
    samples: int = 100,
    hash_seeds: int = 0,
    seed: int = 1,
    paths: Paths | None = None,
    technology: str | None = None,
    links: bool = False,
    load: float | str | Iterable[float] | None = None,
    why: bool = False,
    sensitivity: bool = False,
    **changes: Unpack[Variant],
) -> Result:
    """Bandwidth per node of one fabric by closed form and by load count, with its limit.

    ``fabric`` is a name from the catalog or a file (TOML fabric, JSON graph). ``nodes`` is a number, several, or the
    command's notation (``"2..128"``); a graph has its own. ``size`` is bytes, or text with a unit (1 MiB). ``samples``
    draws of random ``traffic`` are taken from ``seed``; ``hash_seeds`` draws of the hash by which flows choose among
    equal paths. ``method="all"`` asks every engine that can answer.

    Each number of nodes and engine has one record. It holds ``bandwidth_per_node_MBps`` (10^6 bytes a second),
    ``injection_share`` (of a node's rate, 0 to 1), ``limiting_resource`` and ``hot_link``. With ``links`` each resource
    has a record, too. ``why`` adds how the bound comes about, ``sensitivity`` the interval that uncertain inputs leave.
    ``load`` lists shares of the load count's bound and adds the ``mean`` latency in microseconds at each. Every
    resource is then a queue, for messages of one packet to random nodes.

    `Variant` lists changes to the fabric, such as ``oversubscription=2``. Raises `InputError`.
    """
    pattern = _pattern(traffic, capacities, size, samples, seed, paths, technology, hash_seeds)
    listed = None if nodes is None else _numbers(nodes)
    asked = {"fabric": _varied("analyze", fabric, changes), "nodes": listed, "method": method, **pattern}
    if load is not None:
        asked["load"] = _several(load)
    asked |= {"links": links, "why": why, "sensitivity": sensitivity}
    return _result("analyze", _core.analyze(as_json(asked)), **asked)


def compare(
    fabrics: Iterable[Path] | Path,
    nodes: Numbers = "2..128",
    *,
    traffic: str = "all-to-all",
    capacities: Capacities = "measured",
    method: Literal["formula", "load", "packet"] | Iterable[Literal["formula", "load", "packet"]] = "load",
    size: Size | None = None,
    samples: int = 100,
    seed: int = 1,
    paths: Paths | None = None,
    technology: str | None = None,
    prices: Path | None = None,
    across_eras: bool = False,
    hash_seeds: int = 0,
    sensitivity: bool = False,
    out: Path | None = None,
    **changes: Unpack[Variant],
) -> Result:
    """Bandwidth per node, its limit, and cost of several fabrics at each size; the best of each; crossovers.

    Records of ``kind`` "fabric" hold bandwidths in MB/s and costs in the list's currency (``cost_USD``). Those of
    ``kind`` "crossover" say from which number of nodes on another fabric leads, by each ``method``. Those of ``kind``
    "disagreement" say where the methods put different fabrics ahead.

    ``prices`` is a price file, or a list of the catalog, that overrides the fabrics' own. Prices of different years are
    ranked together only with ``across_eras``. ``hash_seeds`` and ``sensitivity`` are as for `analyze`. With ``out``,
    tables and data are also written to that folder, as by ``hotlink compare --out``. ``size`` is 1 MiB, of packets 64
    KiB. `Variant` lists changes to the fabrics: each takes those that it can have, and ``unchanged`` in its records
    names the others. Plots are made from the result: see `Result.plot` and
    `Result.save_plots`. Raises `InputError`.
    """
    named = [fabrics] if isinstance(fabrics, str | PathLike) else fabrics
    names = [_varied("compare", fabric, {}) for fabric in named]
    if not names:
        raise _core.InputError("fabrics: name one or more")
    pattern = _pattern(traffic, capacities, size, samples, seed, paths, technology, hash_seeds)
    list_of_prices = None if prices is None else fspath(prices)
    folder = None if out is None else fspath(out)
    listed = _numbers(nodes)
    methods = method if isinstance(method, str) else ",".join(method)
    asked = {"fabrics": names, "nodes": listed, "method": methods, "prices": list_of_prices, **pattern}
    asked |= {"across_eras": across_eras, "sensitivity": sensitivity, "changes": _changes("compare", changes)}
    call = _call("compare", **asked, out=folder)
    return _result("compare", _core.compare(as_json(asked), folder, call), **asked, out=folder)


class Choices(Variant, total=False):
    """Choices of single benchmarks of `simulate`. One that the benchmark does not have is an `InputError`."""

    algorithm: str | Iterable[str]  # collectives, barrier: how; by default what the cost model picks
    protocol: str | Iterable[str]  # collectives of GPUs: simple, ll128 or ll; by default as NCCL's model chooses
    messages: int  # pingpong (in all), saturation (of each pair), traffic (of an average node)
    between: tuple[int, int]  # pingpong: the two nodes
    direction: Direction | Iterable[Direction]  # stream
    calls: Literal["windowed", "blocking"]  # stream
    window: int  # stream, rate: messages before an answer; saturation: messages under way
    pairs: Numbers  # rate, saturation
    senders: Numbers  # saturation
    random_pairs: bool  # saturation: all nodes exchange in random pairs
    slow: float  # pairs: times the median pair's time
    mpi_share: float  # kernel: share of MPI where the application was observed
    barrier_share: float  # kernel: share of barriers in that
    barrier_us: float  # kernel: time of a barrier there
    skew: float  # kernel: microseconds that a rank computes longer than the others, at most
    iterations: int  # kernel: barriers of a run
    semantics: SendMode | Iterable[SendMode]  # semantics
    schedule: Literal["linear-shift", "random"]  # alltoall of bare packets
    side: Side | Iterable[Side]  # overlap: who computes
    spin: Spin | Iterable[Spin]  # overlap: how
    threads: int  # overlap: threads of spin "threads" (2)
    compute: float | str | Iterable[float]  # overlap: times as shares of the message's own time
    class_: SortClass | Iterable[SortClass]  # is
    traffic: str  # traffic: who sends to whom
    load: float | str | Iterable[float]  # traffic: offered loads, as shares of the bound
    precision: float  # traffic: half width of the intervals of mean and median at which a run ends (0.1)
    series_us: float  # traffic: time between two looks at every server
    partition: bool  # barrier on the fabric's own network: the nodes are a partition
    repetitions: int  # barrier on the fabric's own network: barriers in a row
    skew_us: float  # barrier on the fabric's own network: most delay of an arrival
    write_us: float  # barrier on the fabric's own network: processor's time to signal (H06's o_w)
    read_us: float  # barrier on the fabric's own network: processor's time of a polling read (o_r)
    strides: Numbers  # deposit: distances of stored words, in words of 8 bytes
    copies: Numbers  # deposit with series copied: intermediate copies
    offset: Size  # deposit: bytes from a page's boundary
    operations: int  # deposit by DMA: operations in a row
    completion: Literal["poll", "interrupt"]  # deposit by DMA
    series: str | Iterable[str]  # deposit: local, remote-direct, remote-dma-unpack, remote-pack-dma, ...
    pattern: str | Iterable[str]  # cache-study: loop, hot-cold, phases, stack, uniform, stream
    buffers: int  # cache-study
    buffer_size: Size | Iterable[Size]  # cache-study: bytes of the buffers, in turn
    uses: int  # cache-study: messages
    pinned: Size  # cache-study: memory that each rank may have registered at a time
    persistent: int  # cache-study: of the first buffers, those of persistent operations
    generate: str | Iterable[str]  # goal: OPERATION:ALGORITHM[:SIZE[:SEGMENT]], recorded from the message stack
    repeat: int  # goal: how often these are run
    file: Path  # goal: a schedule in LogGOPSim's text format
    calc_unit: Literal["ps", "ns", "us"]  # goal: one unit of `calc` in the file
    loggp: str  # goal: the machine, as "L=2us,o=0.5us,g=50ns,G=0.08ns"


def simulate(
    benchmark: str,
    fabric: Path | None = None,
    nodes: Numbers | None = None,
    *,
    size: Size | Iterable[Size] | None = None,
    memory: str | Iterable[str] = (),
    align: str | Iterable[str] = (),
    cache: str | Iterable[str] = (),
    zero_copy: bool | Iterable[bool] = (),
    via: Literal["adapter", "tcp"] | Iterable[Literal["adapter", "tcp"]] = (),
    warmup: int | None = None,
    background: str | None = None,
    samples: int | None = None,
    raw: bool = False,
    stack: Literal["packet", "message"] | None = None,
    capacities: Capacities = "measured",
    packet_size: Size | None = None,
    streams: int | None = None,
    paths: Ways | Iterable[Ways] | None = None,
    technology: str | None = None,
    ethernet: Literal["pause", "drop", "ecn"] = "pause",
    transport: Transport | Iterable[Transport] = (),
    connections: Literal["pair", "message"] | None = None,
    buffer: Size | None = None,
    pfc_pause: Size | None = None,
    pfc_resume: Size | None = None,
    lanes: int | None = None,
    reorder: Size | None = None,
    ecn_low: Size | None = None,
    ecn_high: Size | None = None,
    links: bool = False,
    seed: int = 1,
    without: Iterable[int] = (),
    faults: Path | None = None,
    sensitivity: bool = False,
    method: Method | Literal["measured"] | None = None,
    measured: Path | Iterable[Path] = (),
    trace: Path | None = None,
    count: bool = False,
    inject: Mapping[Fault, int] | None = None,
    inject_seed: int = 1,
    **choices: Unpack[Choices],
) -> Result:
    """A benchmark in virtual time: packet by packet on a fabric, LogGP on a machine that was calibrated as one.

    ``benchmark`` is pingpong, stream, rate, pairs, semantics, saturation, overlap, kernel, is, traffic, barrier,
    deposit, cache-study or goal. Or it is another collective: bcast, reduce, allreduce, allgather, alltoall, alltoallv,
    gather, scatter, reduce-scatter. `Choices` lists arguments that only some of them have, such as ``direction`` of
    stream, and those of `Variant`, which change the fabric. ``goal`` is the one without a fabric where ``loggp`` states
    the machine; its ``nodes`` are the ranks.

    ``size`` is bytes, text with a unit, or several (64 KiB; 512 KiB for deposit, 32 KiB for cache-study). ``memory``,
    ``align``, ``cache``, ``zero_copy``, ``via``, ``warmup``, ``background`` and the observers ask for the message
    stack; one value or several, whose combinations all run. Otherwise pingpong and alltoall send bare packets, which
    ``stack`` decides, too. ``samples`` and ``raw`` say how often a program runs, and give every sample.

    A barrier with ``algorithm="hardware"`` runs on the fabric's own barrier network. So does one without an algorithm
    where the fabric has such a network; elsewhere it goes by messages. ``without`` (nodes) is for QsNet's own
    collectives. ``faults`` is a plan of links and switches that fail during collectives and traffic; ``fault_slowdown``
    of a collective compares with the network where nothing fails.

    On Ethernet ``transport`` decides when packets leave (several: one run for each). ``connections`` says whether a
    pair of nodes or each message has a state of its own. ``buffer`` sets the input buffer of switch ports.
    ``pfc_pause`` and ``pfc_resume`` are the bytes in it at which a port pauses its link and lets it go on. ``ecn_low``
    and ``ecn_high`` are the queues between which switches mark packets. ``lanes`` are the virtual lanes of a link.

    ``reorder`` is how many bytes of packets that came early a node can hold; what exceeds it is sent again.

    The simulator alone answers, unless ``method`` names other engines: ``"all"`` asks every one that can, and
    ``differs`` in records says how they differ and why. ``measured`` names result files of `measure` or the command:
    what they hold of the benchmark stands with the engines' answers (``method="all"``), or alone (``"measured"``).
    ``sensitivity`` adds the interval that uncertain inputs leave.

    ``trace`` names a file for the ranks' timeline (Chrome trace events, which Perfetto opens). ``count`` adds how many
    operations the ports had. ``inject`` gives percentages (1 to 90) of faults, drawn from ``inject_seed``.

    Records hold ``latency_us`` (microseconds) or ``bandwidth_MBps`` (10^6 bytes a second), the bound (``bound_*``),
    ``efficiency`` (0 to 1) and ``limiting_resource``. Raises `InputError`.

    >>> import hotlink
    >>> hotlink.simulate("alltoall", fabric="sci-torus2d", nodes=16, size="64KiB")[0]["method"]
    'packet'
    """
    known = [name for name in Choices.__annotations__ if name not in Variant.__annotations__]
    changes = {name: value for name, value in choices.items() if name not in known}
    asked: dict[str, Any] = {
        "benchmark": benchmark,
        "fabric": _varied("simulate", fabric, changes),
        "nodes": None if nodes is None else _numbers(nodes),
        "size": _several(size),
        "memory": _list(memory),
        "align": _list(align),
        "cache": _list(cache),
        "zero_copy": _list(zero_copy),
        "via": _list(via),
        "warmup": warmup,
        "background": background,
        "samples": samples,
        "raw": raw,
        "stack": stack,
        "capacities": capacities,
        "packet_size": packet_size,
        "streams": streams,
        "paths": None if paths is None else _list(paths),
        "technology": technology,
        "ethernet": ethernet,
        "transport": _list(transport),
        "connections": connections,
        "buffer": buffer,
        "pfc_pause": pfc_pause,
        "pfc_resume": pfc_resume,
        "lanes": lanes,
        "reorder": reorder,
        "ecn_low": ecn_low,
        "ecn_high": ecn_high,
        "links": links,
        "seed": seed,
        "without": list(without),
        "faults": None if faults is None else fspath(faults),
        "sensitivity": sensitivity,
        "method": method,
        "measured": [fspath(file) for file in ([measured] if isinstance(measured, PathLike) else _list(measured))],
        "trace": None if trace is None else fspath(trace),
        "count": count,
        "inject": list((inject or {}).items()),
        "inject_seed": inject_seed,
    }
    chosen = {name: _choice(name, choices.get(name)) for name in known}
    made = {name: value for name, value in chosen.items() if value is not None}
    text = _core.simulate(as_json({**asked, **made, "trace": trace is not None}), asked["trace"])
    return _result("simulate", text, **asked, **made)


def _varied(function: str, fabric: Path | None, changes: Mapping[str, object]) -> str | None:
    """The name of a fabric with changes to it, which is valid wherever a fabric is named."""
    words = [f":{name}={value}" for name, value in _changes(function, changes)]
    if fabric is None and words:
        raise _core.InputError(f"{', '.join(changes)}: change a fabric, and none is named")
    name = None if fabric is None else fspath(fabric)
    # What is no text has no variants: whoever asks names it.
    return name + "".join(words) if isinstance(name, str) else name


def _changes(function: str, changes: Mapping[str, object]) -> list[tuple[str, str]]:
    """Changes to a fabric, in the order in which its name has them."""
    known = Variant.__annotations__
    if unknown := [name for name in changes if name not in known]:
        raise TypeError(f"{function}() has no argument {unknown[0]!r}")
    return [(name, str(_own(changes[name]))) for name in known if changes.get(name) is not None]


def _choice(name: str, value: object) -> object:
    if isinstance(value, PathLike):
        return fspath(value)
    several = _some(name, value) if name in _LISTED and value is not None else _several(value)
    if several == []:
        raise _core.InputError(f"{name}: must be one, or several")
    return several


def _some(name: str, value: object) -> list[Any]:
    """One value, or several, as a list; none is an `InputError`."""
    if listed := _list(value):
        return listed
    raise _core.InputError(f"{name}: must be one, or several")


def _list(value: object) -> list[Any]:
    """One value, or several, as a list."""
    several = _several(value)
    return several if isinstance(several, list) else [several]


def _several(value: object) -> object:
    """One value as it is, several as a list."""
    value = _own(value)
    return [_own(one) for one in value] if isinstance(value, Iterable) and not isinstance(value, str) else value


def _own(value: object) -> object:
    """A value of another library (NumPy's) as Python's own."""
    own = getattr(value, "tolist", None)
    return value if own is None else own()


def _pattern(
    traffic: str,
    capacities: str,
    size: Size | None,
    samples: int,
    seed: int,
    paths: str | None,
    technology: str | None,
    hash_seeds: int = 0,
) -> dict[str, Any]:
    return {
        "traffic": traffic,
        "capacities": capacities,
        "size": size,
        "samples": samples,
        "hash_seeds": hash_seeds,
        "seed": seed,
        "paths": paths,
        "technology": technology,
    }


def as_json(asked: Mapping[str, object]) -> str:
    """Arguments as the library reads them; numbers of other libraries (NumPy's) are numbers."""
    try:
        return json.dumps(asked, default=_plain, allow_nan=False)
    except _core.InputError as error:
        wrong = [name for name, value in asked.items() if not _is_plain(value)]
        raise _core.InputError(f"{', '.join(wrong)}: {error}") from None
    except ValueError:
        wrong = [name for name, value in asked.items() if _is_endless(value)]
        raise _core.InputError(f"{', '.join(wrong) or 'a number'}: must be finite") from None


def _plain(value: object) -> object:
    if (own := _own(value)) is not value:
        return own
    raise _core.InputError(f"{value!r}: must be a number, a text, or a list of these")


def _is_plain(value: object) -> bool:
    try:
        json.dumps(value, default=_plain)
    except _core.InputError:
        return False
    return True


def _is_endless(value: object) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    return isinstance(value, list | tuple) and any(_is_endless(part) for part in value)


def _numbers(numbers: Numbers) -> int | str | list[int]:
    """One whole number, a range in words, or several."""
    several = _several(numbers)
    if isinstance(several, str):
        return several
    return [_whole(number) for number in several] if isinstance(several, list) else _whole(several)


def _whole(number: object) -> int:
    if isinstance(number, float) and number.is_integer():
        return int(number)
    if isinstance(number, SupportsIndex):
        return index(number)
    raise _core.InputError(f"{number!r}: must be a whole number")


def _result(function: str, text: str, **asked: object) -> Result:
    return Result(json.loads(text), [_call(function, **asked)], {"hotlink": _core.__version__})


def _call(function: str, **asked: object) -> str:
    """The call that asked, with everything that shapes the result."""
    own = {name: _own(value) for name, value in asked.items()}
    given = {name: value for name, value in own.items() if value is not None and value is not False and value != []}
    return f"hotlink.{function}({', '.join(f'{name}={value!r}' for name, value in given.items())})"
