"""Verbs that work with processes and files of this machine, by values.

A calibration writes a catalog file, a study reads the catalog, a measurement starts ranks.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import Any, Literal, TypedDict, Unpack

from hotlink import _core
from hotlink.questions import (
    Capacities,
    Direction,
    Fault,
    Numbers,
    Paths,
    Side,
    Size,
    SortClass,
    Spin,
    Transport,
    _call,
    _choice,
    _list,
    _numbers,
    _result,
    _several,
    _some,
    as_json,
)
from hotlink.result import Result

Path = str | PathLike[str]
Program = Literal["osu", "imb", "nccl-tests", "perftest", "iperf3"]
RegionKind = Literal["shared", "remote", "rdma"]
RegionSetup = Literal["collective", "pair", "individual"]
Hold = Literal["persistent", "each"]
Study = Literal["K98", "W01", "M02", "H06", "P01", "others"]


class Switches(TypedDict, total=False):
    """Flow control of schedules and jobs, and changes to switches."""

    capacities: Capacities  # rates: measured where they are known, or theoretical
    packet_size: Size  # largest payload of a packet
    paths: Paths  # which of equal paths a packet takes
    transport: Transport  # what decides when packets leave (Ethernet)
    ethernet: Literal["pause", "drop", "ecn"]  # what Ethernet does when a buffer fills
    connections: Literal["pair", "message"]  # what has a transport's state of its own
    buffer: Size  # input buffer of a switch port and virtual lane
    pfc_pause: Size  # bytes in it from which on the port pauses its link
    pfc_resume: Size  # bytes down to which a paused link stays so
    lanes: int  # virtual lanes of a link
    reorder: Size  # bytes of packets that came early which a node can hold
    ecn_low: Size  # queue from which on switches mark packets
    ecn_high: Size  # queue from which on they mark every packet


class Picked(TypedDict, total=False):
    """Choices of single benchmarks of `measure`. One that the benchmark does not have is an `InputError`."""

    rewrite: bool  # pingpong: write each message anew
    direction: Direction | Iterable[Direction]  # stream
    calls: Literal["windowed", "blocking"]  # stream
    window: int  # stream, rate: messages before an answer
    pairs: Numbers  # rate, saturation
    slow: float  # pairs: times the median pair's time
    strides: Numbers  # deposit, memory: distances of stored words
    word: Literal[4, 8]  # deposit: bytes of a word
    side: Side | Iterable[Side]  # overlap: who computes
    spin: Spin | Iterable[Spin]  # overlap: how
    threads: int  # overlap: threads of spin "threads" (2)
    kind: RegionKind | Iterable[RegionKind]  # region: how it is reached
    setup: RegionSetup | Iterable[RegionSetup]  # region: who sets it up
    hold: Hold | Iterable[Hold]  # region: what is kept between accesses
    compute: float | str | Iterable[float]  # overlap: times as shares of the message's own time
    protocol: Literal["stream", "datagram"] | Iterable[Literal["stream", "datagram"]]  # sockets
    test: Literal["latency", "bandwidth"] | Iterable[Literal["latency", "bandwidth"]]  # sockets
    nagle: Literal["on", "off"] | Iterable[Literal["on", "off"]]  # sockets
    socket_buffer: Size | Iterable[Size]  # sockets: bytes asked for; 0: the system's own choice
    writes: int  # sockets: calls in which a message of a stream is written
    pace: float  # sockets: MB/s at which datagrams are sent
    line_rate: float  # sockets: the line's rate in MB/s, as the bound
    algorithm: str | Iterable[str]  # collectives, barrier: how; by default what the cost model picks
    start: Literal["barrier", "each", "window"]  # collectives, barrier: how ranks begin together
    background: str  # collectives, barrier: other messages under way, as "ring:0.5:64KiB"
    device: Literal["rtl", "flags"] | Iterable[Literal["rtl", "flags"]]  # barrier
    mpi_share: float  # kernel: share of MPI where the application was observed
    barrier_share: float  # kernel: share of barriers in that
    barrier_us: float  # kernel: time of a barrier there
    skew: float  # kernel: microseconds that a rank computes longer than the others, at most
    iterations: int  # kernel: barriers of a run
    seed: int  # kernel: of the skew
    class_: SortClass | Iterable[SortClass]  # is


def measure(
    benchmark: str,
    *,
    via: Literal["shm", "tcp", "mixed", "mpi"] = "shm",
    ranks: Numbers | None = None,
    size: Size | Iterable[Size] | None = None,
    memory: str | Iterable[str] | None = None,
    time: float = 0.5,
    blocks: int = 12,
    spread: float | None = None,
    limit: float | None = None,
    rounds: int = 1,
    raw: bool = False,
    buffers: Literal["kept", "rewritten"] = "kept",
    fabric: Path | None = None,
    copy: Literal["auto", "ring", "stream", "system", "halves"] | None = None,
    cache: Literal["lru", "lfu", "best-fit", "random", "immediate"] | None = None,
    mpi: str | None = None,
    stall: float | None = None,
    poll: float | None = None,
    listen: str | None = None,
    connect: str | None = None,
    as_rank: int = 1,
    processes: int = 2,
    secret_file: Path | None = None,
    trace: Path | None = None,
    count: bool = False,
    inject: Mapping[Fault, int] | None = None,
    inject_seed: int = 1,
    **choices: Unpack[Picked],
) -> Result:
    """A benchmark between real ranks of this machine, which are started for it.

    ``benchmark`` is pingpong, stream, rate, pairs, semantics, saturation, deposit, overlap, sockets, memory,
    registration, region, barrier, kernel or is. Or it is a collective: bcast, reduce, allreduce, allgather, alltoall,
    alltoallv, gather, scatter, reduce-scatter. `Picked` lists arguments that only some of them have, such as
    ``direction`` of stream.

    ``size`` is bytes, text (``"64KiB"``, ``"8..1MiB"``), or several; ``ranks`` a number, several, or text. ``time`` is
    in seconds for each point. It is split into ``blocks`` that are spread over ``spread`` seconds (20 times ``time`` if
    not given), and all that runs ``rounds`` times. No block begins after ``limit`` seconds. ``fabric`` is the fabric
    that is measured, for its bound, or ``"label:NAME"``.

    ``copy`` chooses the route of long messages over shared memory (else ``HOTLINK_COPY``, or the best that was measured
    on this machine). ``cache`` chooses which registration goes when another needs its place. ``poll`` is the time in
    seconds for which a waiting rank polls before it sleeps (0.02). ``stall`` is the time in seconds after which ranks
    that all wait end with an error.

    ``via="mpi"`` needs an MPI's launcher. ``listen`` or ``connect``, with ``as_rank``, ``processes`` and
    ``secret_file``, join processes of several machines. ``trace``, ``count``, ``inject`` and ``inject_seed`` are as for
    `simulate`.

    Records hold ``latency_us`` (microseconds) or ``bandwidth_MBps`` (10^6 bytes a second) with ``n``, ``median``,
    ``min`` and ``p99``. Those of six or more blocks also hold the 95 % interval ``ci95_low`` to ``ci95_high``. With
    ``raw`` they hold every sample. Raises `InputError`.
    """
    known = Picked.__annotations__
    if unknown := [name for name in choices if name not in known]:
        raise TypeError(f"measure() has no argument {unknown[0]!r}")
    asked: dict[str, Any] = {
        "benchmark": benchmark,
        "via": via,
        "ranks": None if ranks is None else _numbers(ranks),
        "size": _several(size),
        "memory": None if memory is None else _list(memory),
        "fabric": None if fabric is None else fspath(fabric),
        "time": time,
        "blocks": blocks,
        "spread": spread,
        "limit": limit,
        "rounds": rounds,
        "raw": raw,
        "buffers": buffers,
        "copy": copy,
        "cache": cache,
        "mpi": mpi,
        "stall": stall,
        "poll": poll,
        "listen": listen,
        "connect": connect,
        "as_rank": as_rank,
        "processes": processes,
        "secret_file": None if secret_file is None else fspath(secret_file),
        "trace": None if trace is None else fspath(trace),
        "count": count,
        "inject": list((inject or {}).items()),
        "inject_seed": inject_seed,
    }
    picked = {name: _choice(name, choices.get(name)) for name in known}
    made = {name: value for name, value in picked.items() if value is not None}
    measured = json.loads(_core.measure(as_json(asked), as_json(picked)))
    about = [_call("measure", **asked, **made)], measured["environment"], measured["incomplete"]
    return Result(measured["records"], *about)


def calibrate(
    results: Path | Iterable[Path],
    *,
    name: str = "this-machine",
    model: Literal["fabric", "loggp", "memory"] = "fabric",
    check: Path | Iterable[Path] | None = None,
    force: bool = False,
    out: Path | None = None,
) -> Result:
    """A fabric from measured results: files that `measure` or the command printed.

    The fabric becomes part of the user's catalog under ``name``, or the file ``out``. With ``force`` it precedes a
    fabric of that name that comes with hotlink. ``model="loggp"`` also fits L, o, g and G, ``model="memory"`` a node's
    memory. ``check`` names results that the calibration has not seen: records say how well it predicts them. Raises
    `InputError`.
    """
    files, checked = _paths("results", results), [] if check is None else _paths("check", check)
    place = None if out is None else fspath(out)
    text = _core.calibrate(files, name, model, checked, force, place)
    asked = {"name": name, "model": model, "check": checked, "force": force, "out": place}
    return _result("calibrate", text, results=files, **asked)


def diagnose(
    files: Path | Iterable[Path],
    *,
    fabric: Path | None = None,
    nodes: int | None = None,
    benchmark: str | None = None,
) -> Result:
    """The limits of a site's network, from outputs of OSU, IMB, nccl-tests, perftest, iperf3 and tools.

    Records come by ``kind``. One ``verdict`` is first, then each ``finding``, each ``explanation`` (the most likely
    first), and what is ``unknown``. Each ``flag`` follows (a file that does not count, an impossible number), and each
    ``number`` with its bound. ``fabric`` is the one that was measured, if the files hold no dump of the network.
    ``nodes`` is the machine's size. ``benchmark`` names the benchmark of files that do not, such as those of older
    nccl-tests. Raises `InputError`, which lists the fabrics where none is named.
    """
    paths, measured = _paths("files", files), None if fabric is None else fspath(fabric)
    asked = {"files": paths, "fabric": measured, "nodes": nodes, "benchmark": benchmark}
    return _result("diagnose", _core.diagnose(as_json(asked)), **asked)


def import_results(
    program: Program,
    files: Path | Iterable[Path],
    *,
    fabric: Path | None = None,
    nodes: int | None = None,
    benchmark: str | None = None,
    ranks: int | None = None,
    report_gbits: bool = False,
    algorithm: str | None = None,
    protocol: str | None = None,
    capacities: Capacities = "measured",
) -> Result:
    """Results of another measurement program as records, with their bounds.

    ``fabric`` is the one that was measured, for the bounds, with ``nodes`` of it (one for each rank if not given).
    ``benchmark`` and ``ranks`` add what the files lack. ``report_gbits`` says that perftest's JSON is in Gbit/s.

    Of nccl-tests, ``nodes`` counts GPUs. ``algorithm`` (ring, tree, nvls, nvls-tree, collnet, pairs) and
    ``protocol`` (simple, ll128, ll) name NCCL's choice where its log does not. Without them the bound is that of the
    algorithm that NCCL's model chooses, by the protocol that allows most (``bound_algorithm``, ``bound_protocol``).
    ``capacities`` are the rates of the fabric's resources, as for simulations. Raises `InputError`, which names file
    and line.
    """
    paths, measured = _paths("files", files), None if fabric is None else fspath(fabric)
    names = (algorithm, protocol, capacities)
    text = _core.import_results(program, paths, measured, nodes, benchmark, ranks, report_gbits, *names)
    asked = {"fabric": measured, "nodes": nodes, "benchmark": benchmark, "ranks": ranks}
    asked |= {"report_gbits": report_gbits, "algorithm": algorithm, "protocol": protocol, "capacities": capacities}
    return _result("import_results", text, program=program, files=paths, **asked)


def simulate_schedule(
    path: Path,
    fabric: Path,
    *,
    size: int | str | None = None,
    flops: float | None = None,
    groups: Path | None = None,
    algorithm: str | None = None,
    protocol: str | None = None,
    nodes: int | None = None,
    ranks_per_node: int = 1,
    placement: str | None = None,
    overhead_us: float = 0.0,
    eager: int | str | None = None,
    seed: int = 1,
    faults: Path | None = None,
    sensitivity: bool = False,
    **network: Unpack[Switches],
) -> Result:
    """A schedule on a fabric's packet network: GOAL, Chakra traces, plans of MSCCL and MSCCL++, or JSON.

    ``path`` is a file, or a folder or prefix of traces (docs/schedules.md says more). ``size`` is that of a plan's
    collective. ``flops`` is the rate of computations that state operations and no time, in operations a second.
    ``groups`` is a file with the groups of traces. ``algorithm`` and ``protocol`` are for those collectives of traces
    that have them; on GPUs, NCCL's model chooses else.

    A message takes a processor ``overhead_us`` on each side; one above ``eager`` bytes asks the receiver first.
    ``ranks_per_node`` of them share a node, between which messages take no time.

    ``placement`` chooses the nodes: contiguous, packed, spread, random, rail, a list such as "0-7,32", or a file.
    ``faults`` is a plan of failures, ``sensitivity`` adds the interval that uncertain inputs leave. `Switches` lists
    options that control flows (``transport="dcqcn"``) and that change the network. Raises `InputError`, with file and
    line or node.
    """
    _no_others("simulate_schedule", network)
    machine, groups_file = fspath(fabric), None if groups is None else fspath(groups)
    where = fspath(path)
    asked: dict[str, Any] = {"fabric": machine, "size": size, "flops": flops, "nodes": nodes, "eager": eager}
    asked |= {"seed": seed, "path": where, "overhead_us": overhead_us}
    asked |= {"ranks_per_node": ranks_per_node, "placement": placement, "groups": groups_file}
    asked |= {"algorithm": algorithm, "protocol": protocol}
    asked |= {"faults": None if faults is None else fspath(faults), "sensitivity": sensitivity}
    text = _core.simulate_schedule(as_json({**asked, "network": dict(network)}))
    return _result("simulate_schedule", text, **asked, **network)


def simulate_jobs(
    plan: Path,
    fabric: Path,
    *,
    nodes: int | None = None,
    placement: str | Iterable[str] = (),
    overhead_us: float = 0.0,
    eager: int | str | None = None,
    seed: int = 1,
    faults: Path | None = None,
    sensitivity: bool = False,
    **network: Unpack[Switches],
) -> Result:
    """Several jobs on a fabric at once: a record for each, with its time beside the others and alone, and one for all.

    ``plan`` is a TOML file (docs/jobs.md). ``placement`` (contiguous, packed, spread, random, rail) says how jobs
    that list no nodes get theirs; of several, one answer each. ``nodes`` are those of the fabric, ``faults`` a file of
    what fails. ``sensitivity`` adds the interval that uncertain inputs leave. `Switches` lists what stands in place of
    the plan's ``[network]``. Raises `InputError`, with file, line
    and job.
    """
    _no_others("simulate_jobs", network)
    where, machine, failing = fspath(plan), fspath(fabric), None if faults is None else fspath(faults)
    words = [placement] if isinstance(placement, str) else list(placement)
    asked: dict[str, Any] = {
        "plan": where,
        "fabric": machine,
        "nodes": nodes,
        "placement": words,
        "overhead_us": overhead_us,
    }
    asked |= {"eager": eager, "seed": seed, "faults": failing, "sensitivity": sensitivity}
    text = _core.simulate_jobs(as_json({**asked, "network": dict(network)}))
    return _result("simulate_jobs", text, **asked, **network)


def simulate_region(
    fabric: Path,
    *,
    kind: RegionKind | Iterable[RegionKind] = ("shared", "remote", "rdma"),
    setup: RegionSetup | Iterable[RegionSetup] = "individual",
    hold: Hold | Iterable[Hold] = ("persistent", "each"),
    memory: str | Iterable[str] = "regular",
    size: Size | Iterable[Size] = "64KiB",
    nodes: int = 2,
    seed: int = 1,
    sensitivity: bool = False,
) -> Result:
    """Memory of node 0 that node 1 reaches: registration, first and further puts, holds, and revocation.

    A record for each ``kind`` (how it is reached), ``memory``, ``setup`` (which nodes register it), ``size`` and
    ``hold`` (what is kept between accesses). ``latency_us`` is one put, with ``hold="each"`` between an import and its
    release. A record with a ``note`` stands for what the fabric lacks. Raises `InputError`.
    """
    where = fspath(fabric)
    listed = {"kind": kind, "setup": setup, "hold": hold, "memory": memory}
    words = {name: _some(name, given) for name, given in listed.items()}
    asked: dict[str, Any] = {"fabric": where, **words, "size": _choice("size", size)}
    asked |= {"nodes": nodes, "seed": seed, "sensitivity": sensitivity}
    return _result("simulate_region", _core.simulate_region(as_json(asked)), **asked)


def report(
    results: Path | Iterable[Path],
    *,
    out: Path = "report.html",
    require: Path | None = None,
    junit: Path | None = None,
    title: str | None = None,
) -> Result:
    """Writes one HTML page of result files, and judges them by their bounds and by what ``require`` (TOML) asks.

    The first record holds the ``verdict``: pass, suspicious or fail; unjudged where nothing is
    required and no check applies. Then comes each ``check`` of a requirement, each
    ``finding``, each rule that results were ``held`` to and the results ``furthest``
    from their bound, by ``kind``. A missed requirement is a record, not an exception. With ``junit``, checks and
    findings are also written to that file, for a continuous-integration server. Raises `InputError`, with file and
    line.
    """
    files, required = _paths("results", results), None if require is None else fspath(require)
    cases = None if junit is None else fspath(junit)
    text = _core.report(files, fspath(out), required, cases, title)
    return _result("report", text, results=files, out=fspath(out), require=required, junit=cases, title=title)


def reproduce(
    studies: Study | Iterable[Study] = (),
    *,
    score: bool = False,
    figures: Path | None = None,
    measure: bool = False,
) -> Result:
    """The tables, figures and claims of studies, each with the published and the reproduced value.

    A record's ``kind`` says what the reproduced value rests on (identity, fit, bound, ordering or prediction),
    ``verdict`` whether the claim holds. Claims that do not hold are records, not exceptions.

    With ``score``, each study (all if none is named) first has a record of ``kind`` "score", which counts predictions,
    orderings and the like. Its claims follow, those that do not hold first. ``figures`` is a folder, into which every
    figure and table is drawn as SVG. With ``measure``, K98 and W01 are measured on this machine, too, for up to a
    minute. Raises `InputError`.
    """
    names = _list(studies) if score else _some("studies", studies)
    if score and measure:
        raise _core.InputError("measure: the score counts what models predict; leave out score or measure")
    folder = None if figures is None else fspath(figures)
    text = _core.reproduce(names, score, folder, measure)
    return _result("reproduce", text, studies=names, score=score, figures=folder, measure=measure)


def compare_runs(
    before: Path,
    after: Path,
    *,
    floor: float | str = 0.05,
    ignore: str | Iterable[str] = (),
    allow_missing: bool = False,
    junit: Path | None = None,
) -> Result:
    """Results before and after a change: the ratio of the medians, its 95 % interval, and a verdict for each.

    ``before`` and ``after`` are files that `measure` or the command printed, or folders of a sweep. A result is a
    regression if it is worse by more than ``floor`` (0.05, or ``"5%"``) and its interval excludes no change. ``ignore``
    names parameters that may differ between the two.

    Each record has its ``verdict``: same, improvement, regression, undecided, invalid, only before or only after. A
    regression is a record, not an exception. With ``junit``, the verdicts are also written to that file;
    ``allow_missing`` says there that results missing after are no failures. Raises `InputError`.
    """
    files, cases = (fspath(before), fspath(after)), None if junit is None else fspath(junit)
    asked: dict[str, Any] = {"ignore": _list(ignore), "allow_missing": allow_missing, "junit": cases}
    text = _core.compare_runs(files, str(floor), *asked.values())
    return _result("compare_runs", text, before=files[0], after=files[1], floor=floor, **asked)


def compare_commands(
    a: str,
    b: str,
    *,
    pairs: int = 10,
    floor: float | str = 0.05,
    ignore: str | Iterable[str] = (),
    allow_missing: bool = False,
    junit: Path | None = None,
) -> Result:
    """The same of two commands that run in turn, each ``pairs`` times (6 to 1000).

    A change of the machine meanwhile affects both. Commands run by ``/bin/sh`` and print records as ``--json`` does.
    The ratio is the median of the pairs' ratios. The other arguments are those of `compare_runs`. Raises `InputError`.
    """
    asked: dict[str, Any] = {"ignore": _list(ignore), "allow_missing": allow_missing}
    asked["junit"] = None if junit is None else fspath(junit)
    text = _core.compare_commands((a, b), pairs, str(floor), *asked.values())
    return _result("compare_commands", text, a=a, b=b, pairs=pairs, floor=floor, **asked)


def _no_others(function: str, network: Switches) -> None:
    for name in network:
        if name not in Switches.__annotations__:
            raise TypeError(f"{function}() has no argument {name!r}")


def _paths(name: str, paths: Path | Iterable[Path]) -> list[str]:
    return [fspath(path) for path in ([paths] if isinstance(paths, PathLike) else _some(name, paths))]
