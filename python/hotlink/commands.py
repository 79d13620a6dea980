"""Verbs that work with processes and files of this machine, by values.

A calibration writes a catalog file, a study reads the catalog, a measurement starts ranks. `measure` alone runs the
command inside this process: its words are built in one place, `_words`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import Literal

from hotlink import _core
from hotlink.questions import _result
from hotlink.result import Result

Path = str | PathLike[str]
Option = str | int | float | bool | PathLike[str] | Iterable[str | int | float | PathLike[str]] | None
Program = Literal["osu", "imb", "nccl-tests", "perftest", "iperf3"]
Study = Literal["K98", "W01", "M02", "H06", "P01"]


def measure(
    benchmark: str,
    *,
    via: Literal["shm", "tcp", "mixed"] = "shm",
    ranks: int | Iterable[int] | None = None,
    size: int | str | Iterable[int | str] | None = None,
    time: float = 0.5,
    blocks: int = 12,
    spread: float | None = None,
    fabric: Path | None = None,
    memory: str | None = None,
    trace: Path | None = None,
    count: bool = False,
    inject: Mapping[Literal["busy", "late", "scarce"], int] | None = None,
    **more: Option,
) -> Result:
    """A benchmark between real ranks of this machine, which are started for it.

    ``time`` is in seconds for each point, in ``blocks`` that are spread over ``spread`` seconds (20 times ``time`` if
    not given). ``fabric`` is the fabric that is measured, for its bound. ``more`` are options of the one benchmark,
    by their names with underscores: ``measure("stream", direction="bi")``. ``trace``, ``count`` and ``inject`` are
    as for `simulate`.

    Records hold ``latency_us`` (microseconds) or ``bandwidth_MBps`` (10^6 bytes a second) with ``n``, ``median``,
    ``min``, ``p99`` and the 95 % interval ``ci95_low`` to ``ci95_high``. Raises `InputError`.
    """
    faults = [f"{name}:{percent}" for name, percent in (inject or {}).items()]
    return _run(
        ["measure", benchmark],
        via=via,
        ranks=ranks,
        size=size,
        time=time,
        blocks=blocks,
        spread=spread,
        fabric=fabric,
        memory=memory,
        trace=trace,
        count=count,
        inject=faults or None,
        **more,
    )


def calibrate(
    results: Path | Iterable[Path],
    *,
    name: str = "this-machine",
    model: Literal["fabric", "loggp"] = "fabric",
    check: Path | Iterable[Path] | None = None,
    force: bool = False,
    out: Path | None = None,
) -> Result:
    """A fabric from measured results: files that `measure` or the command printed.

    The fabric becomes part of the user's catalog under ``name``, or the file ``out``; ``force`` lets it stand before a
    fabric of that name that comes with hotlink. ``model="loggp"`` also fits L, o, g and G. ``check`` names results that
    the calibration has not seen: records say how well it predicts them. Raises `InputError`.
    """
    files, checked = _paths(results), [] if check is None else _paths(check)
    place = None if out is None else fspath(out)
    text = _core.calibrate(files, name, model, checked, force, place)
    asked = {"name": name, "model": model, "check": checked, "force": force, "out": place}
    return _result("calibrate", text, results=files, **asked)


def diagnose(files: Path | Iterable[Path], *, fabric: Path | None = None, nodes: int | None = None) -> Result:
    """What holds a site's network back, from outputs of OSU, IMB, nccl-tests, perftest, iperf3 and tools.

    Records by ``kind``: one ``verdict``, then each ``finding``, each ``explanation`` (the most likely first), what is
    ``unknown``, each ``flag`` (a file that does not count, a number that cannot be), and each ``number`` beside its
    bound. ``fabric`` is the one that was measured, if the files hold no dump of the network; ``nodes``, the machine's
    size. Raises `InputError`, which lists the fabrics where none is named.
    """
    paths, measured = _paths(files), None if fabric is None else fspath(fabric)
    return _result("diagnose", _core.diagnose(paths, measured, nodes), files=paths, fabric=measured, nodes=nodes)


def import_results(
    program: Program,
    files: Path | Iterable[Path],
    *,
    fabric: Path | None = None,
    nodes: int | None = None,
    benchmark: str | None = None,
    ranks: int | None = None,
    report_gbits: bool = False,
) -> Result:
    """Results of another measurement program as records, with their bounds.

    ``fabric`` is the one that was measured, for the bounds, with ``nodes`` of it (one for each rank if not given).
    ``benchmark`` and ``ranks`` say what the files do not tell; ``report_gbits``, that perftest's JSON is in Gbit/s.
    Raises `InputError`, which names file and line.
    """
    paths, measured = _paths(files), None if fabric is None else fspath(fabric)
    text = _core.import_results(program, paths, measured, nodes, benchmark, ranks, report_gbits)
    asked = {"fabric": measured, "nodes": nodes, "benchmark": benchmark, "ranks": ranks}
    return _result("import_results", text, program=program, files=paths, **asked)


def reproduce(studies: Study | Iterable[Study], *, measure: bool = False) -> Result:
    """The tables, figures and claims of studies, each with the published and the reproduced value.

    A record's ``kind`` says what the reproduced value rests on (identity, fit, bound, ordering or prediction),
    ``verdict`` whether the claim holds. Claims that do not hold are records, not exceptions. With ``measure``, K98
    and W01 are measured on this machine, too, for up to a minute. Raises `InputError`.
    """
    names: list[str] = [studies] if isinstance(studies, str) else list(studies)
    return _result("reproduce", _core.reproduce(names, measure), studies=names, measure=measure)


def _paths(paths: Path | Iterable[Path]) -> list[str]:
    return [fspath(paths)] if isinstance(paths, str | PathLike) else [fspath(path) for path in paths]


def _run(words: list[str], **options: Option) -> Result:
    return Result.from_json(_core.json(["hotlink", *words, *_words(options)]))


def _words(options: Mapping[str, Option]) -> list[str]:
    words: list[str] = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif isinstance(value, str | int | float | PathLike):
            words.append(f"{option}={fspath(value) if isinstance(value, PathLike) else value}")
        else:
            listed = ",".join(fspath(one) if isinstance(one, PathLike) else str(one) for one in value)
            words.append(f"{option}={listed}")
    return words
