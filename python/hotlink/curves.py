"""Results as curves: what was measured against what was swept, with the field's conventions.

Sizes stand on a log2 axis with IEC labels, latencies on a logarithmic one; medians have their 95 % interval as a band;
bounds are dashed in the colour of what they bound; what changes at whole numbers only is drawn as steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import log2
from pathlib import Path
from typing import Any, Literal, cast

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from hotlink.plot import COLOURS, DASHES, FAINT, INK, colour, write
from hotlink.result import Record, Value

# What can stand across, the likeliest first, with its label.
ACROSS = {
    "size_B": "Message size",
    "stride": "Stride (words)",
    "load": "Offered load (share of the bound)",
    "compute_us": "Computation (µs)",
    "pairs": "Pairs",
    "senders": "Senders",
    "nodes": "Nodes",
    "ranks": "Ranks",
}
# What can stand upwards, with its label; the first two are drawn where nothing is asked for.
UPWARDS = {
    "latency_us": "Latency (µs)",
    "bandwidth_MBps": "Bandwidth (MB/s)",
    "bandwidth_per_node_MBps": "Bandwidth per node (MB/s)",
    "algorithm_bandwidth_MBps": "Algorithm bandwidth (MB/s)",
    "bus_bandwidth_MBps": "Bus bandwidth (MB/s)",
    "messages_per_s": "Messages per second",
    "overlap": "Overlap (share of the message's time)",
    "efficiency": "Efficiency (share of the bound)",
    "injection_share": "Share of a node's injection",
}
MOST_LINES = 24
MOST_ROWS = 8
# Named once: the dashes mean the same in every colour.
BOUND = "bound (dashed)"
# A bound so many times the values would press them flat on a linear axis.
HIDDEN_BELOW = 4
# Models of whole machines: between two numbers of nodes there is nothing.
STEPPED_METHODS = {"formula", "load"}
STEPPED_ACROSS = {"nodes", "ranks"}
# Text that tells what came out, not what was asked.
TOLD = {"limiting_resource", "hot_link", "trace_hash", "statistic_of", "bound_is", "note", "deadlock", "kind", "file"}
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


@dataclass
class Curve:
    """One line: its points in order, the interval around each, and the bound beside it."""

    name: str
    stepped: bool
    x: list[float] = field(default_factory=list)
    y: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    bound: list[float] = field(default_factory=list)


def save(records: Sequence[Record], file: Path, x: str | None, y: Sequence[str], facet: str | None = None) -> None:
    """Draw into a file. Raises ValueError where the records have nothing to draw."""
    write(draw(records, x, y, facet), file)


def rows_of(records: Sequence[Record], facet: str | None) -> dict[Value, list[Record]]:
    """Group the records by the value of a key, in the order in which the values come; one group without a key."""
    rows: dict[Value, list[Record]] = {}
    for record in records:
        if facet is None or record.get(facet) is not None:
            rows.setdefault(None if facet is None else record[facet], []).append(record)
    if facet is not None and not 1 <= len(rows) <= MOST_ROWS:
        raise ValueError(f"--facet {facet}: {len(rows)} values; allowed are 1 to {MOST_ROWS}")
    return rows


def draw(records: Sequence[Record], x: str | None = None, y: Sequence[str] = (), facet: str | None = None) -> Figure:
    """Draw the records, one chart for each of ``y``, and a row of those for each value of ``facet``.

    Raises ValueError where the records have nothing to draw.
    """
    rows = rows_of(records, facet)
    records = [record for group in rows.values() for record in group]
    wanted = list(y) or [key for key in ("latency_us", "bandwidth_MBps") if has(records, key)]
    wanted = wanted or [key for key in UPWARDS if has(records, key)][:1]
    known = sorted({key for record in records for key in record if has(records, key)})
    if not wanted or not all(key == "samples" or has(records, key) for key in wanted):
        raise ValueError(f"nothing to draw of {', '.join(wanted) or 'these records'}; allowed: {', '.join(known)}")
    size = (1.8 + 5.6 * len(wanted), 1.0 + 3.8 * len(rows))
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(h_pad=0.1, w_pad=0.1))
    charts = figure.subplots(len(rows), len(wanted), squeeze=False)
    across = {key: x or swept(records, key) for key in wanted if key != "samples"}
    points = [record for key in across for record in drawn(records, across[key], key)]
    differing = [key for key in differing_keys(points, across.values()) if key != facet]
    # One legend stands for all charts: a name has one colour in all of them.
    places: dict[str, int] = {}
    for row, (value, group) in zip(charts, rows.items(), strict=True):
        for axes, key in zip(row, wanted, strict=True):
            if key == "samples":
                distribution(axes, group)
            elif points := drawn(group, across[key], key):
                chart(axes, curves_of(points, across[key], key, differing), across[key], key, places)
            if facet is not None:
                axes.set_title(f"{facet} {value}", loc="left", fontsize=9, color=INK)
    figure.suptitle(title(records), x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK)
    named = {name: line for axes in charts.flat for line, name in zip(*axes.get_legend_handles_labels(), strict=True)}
    names = sorted(named, key=BOUND.__eq__)
    if len(names) > 1:
        figure.legend([named[name] for name in names], names, loc="outside right upper", frameon=False, fontsize=8.5)
    return figure


def has(records: Iterable[Record], key: str) -> bool:
    """Whether any record has a number under a key."""
    return any(number(record, key) is not None for record in records)


def number(record: Record, key: str) -> float | None:
    """Give a record's number, if it is one."""
    value = record.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def swept(records: Sequence[Record], y: str) -> str:
    """Find the likeliest key across: the first that takes more than one value."""
    drawn = [record for record in records if number(record, y) is not None]
    for key in ACROSS:
        if len({record.get(key) for record in drawn if record.get(key) is not None}) > 1:
            return key
    raise ValueError(f"nothing is swept: none of {', '.join(ACROSS)} takes two values; say what with --x")


def is_asked(key: str, value: Value) -> bool:
    """Whether a field tells lines apart: what was asked for, in text or whole numbers."""
    if isinstance(value, str):
        return key not in TOLD
    return isinstance(value, int) and not isinstance(value, bool) and key in {*ACROSS, "seed", "window", "streams"}


def drawn(records: Iterable[Record], x: str, y: str) -> list[Record]:
    """Give the records that have both."""
    return [record for record in records if number(record, x) is not None and number(record, y) is not None]


def differing_keys(points: Sequence[Record], across: Iterable[str]) -> list[str]:
    """Find what was asked for and is not the same everywhere, but for what is swept."""
    asked = dict.fromkeys(key for record in points for key, value in record.items() if is_asked(key, value))
    swept_keys = set(across)
    return [key for key in asked if key not in swept_keys and len({record.get(key) for record in points}) > 1]


def curves_of(records: Sequence[Record], x: str, y: str, differing: Sequence[str] | None = None) -> list[Curve]:
    """Group the points into curves by everything else that was asked for, named by what differs between them.

    Where nothing does, a curve has its method's name: one legend stands for charts of several quantities.
    """
    points = drawn(records, x, y)
    if not points:
        raise ValueError(f"no record has a number for both {x} and {y}")
    if differing is None:
        differing = differing_keys(points, [x])
    curves: dict[tuple[Value, ...], Curve] = {}
    for record in sorted(points, key=lambda record: number(record, x) or 0.0):
        group = tuple(record.get(key) for key in differing)
        named = [f"{key} {value}" if isinstance(value, int) else str(value) for key, value in zip(differing, group)]  # noqa: B905
        stepped = record.get("method") in STEPPED_METHODS and x in STEPPED_ACROSS
        name = ", ".join(n for n in named if n != "None") or str(record.get("method", "value"))
        curve = curves.setdefault(group, Curve(name, stepped))
        add(curve, record, x, y)
    if len(curves) > MOST_LINES:
        raise ValueError(
            f"{len(curves)} lines are too many for one chart: at most {MOST_LINES}; they differ in {differing}"
        )
    return [curves[group] for group in dict.fromkeys(tuple(r.get(key) for key in differing) for r in points)]


def add(curve: Curve, record: Record, x: str, y: str) -> None:
    """Add a record's point, its interval and its bound."""
    value, (low, high) = number(record, y) or 0.0, interval(record, y)
    curve.x.append(number(record, x) or 0.0)
    curve.y.append(value)
    curve.low.append(value if low is None else low)
    curve.high.append(value if high is None else high)
    bound = number(record, f"bound_{y}")
    curve.bound.append(float("nan") if bound is None else bound)


def interval(record: Record, y: str) -> tuple[float | None, float | None]:
    """Give the 95 % interval of a value: its own, or that of the time it was computed from."""
    low, high, of = number(record, "ci95_low"), number(record, "ci95_high"), record.get("statistic_of")
    if low is None or high is None or of == y:
        return (low, high) if of == y else (None, None)
    size = number(record, "size_B")
    if (of, y) == ("latency_us", "bandwidth_MBps") and size and low > 0 and high > 0:
        return size / high, size / low
    return None, None


def chart(axes: Axes, curves: Sequence[Curve], x: str, y: str, places: dict[str, int]) -> None:
    """Draw curves, intervals and bounds on one set of axes; the place of a name gives its colour."""
    for curve in curves:
        index = places.setdefault(curve.name, len(places))
        dash = DASHES[0] if index < len(COLOURS) else DASHES[2]
        where: Literal["steps-post", "default"] = "steps-post" if curve.stepped else "default"
        marker = "" if curve.stepped or len(curve.x) > 40 else "o"
        (line,) = axes.plot(curve.x, curve.y, linestyle=dash, linewidth=1.6, marker=marker, markersize=3)
        line.set(color=colour(index), drawstyle=where, label=curve.name)
        if curve.low != curve.high:
            step: Literal["post"] | None = "post" if curve.stepped else None
            axes.fill_between(curve.x, curve.low, curve.high, color=colour(index), alpha=0.2, linewidth=0, step=step)
        if any(bound == bound for bound in curve.bound):
            (line,) = axes.plot(curve.x, curve.bound, linestyle=(0, (4, 2.5)), linewidth=1.1)
            line.set(color=colour(index), drawstyle=where, label=BOUND, marker="_" if len(curve.x) == 1 else "")
    scale_across(axes, curves, x)
    scale_upwards(axes, curves, y)
    axes.set_xlabel(ACROSS.get(x, x), color=INK)
    axes.set_ylabel(UPWARDS.get(y, y), color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#e8e8e8", linewidth=0.7)
    axes.set_axisbelow(True)


def scale_across(axes: Axes, curves: Sequence[Curve], x: str) -> None:
    """Log2 for sizes, and for whatever spans more than a factor of 16 in powers; IEC labels for sizes."""
    values = sorted({value for curve in curves for value in curve.x})
    positive = [value for value in values if value > 0]
    if not positive:
        return
    powers = len(positive) > 2 and max(positive) > 16 * min(positive) and all(log2(v).is_integer() for v in positive)
    if x != "size_B" and not powers:
        return
    # A size of 0 has a place on the axis, left of 1.
    axes.set_xscale("symlog", base=2, linthresh=1, linscale=0.5) if values[0] == 0 else axes.set_xscale("log", base=2)
    low, high = round(log2(min(positive))), round(log2(max(positive)))
    step = max(1, (high - low) // 8)
    ticks = [2.0**power for power in range(-(-low // step) * step, high + 1, step)]
    axes.xaxis.set_major_locator(FixedLocator(([0.0] if values[0] == 0 else []) + ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    label = iec if x == "size_B" else "{:g}".format
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: label(value)))
    axes.tick_params(axis="x", labelrotation=35 if x == "size_B" else 0)


def iec(size: float) -> str:
    """Write a size as it is read: ``8 B``, ``64 KiB``."""
    power = 0
    while size >= 1024 and power < len(UNITS) - 1:
        size, power = size / 1024, power + 1
    return f"{size:g} {UNITS[power]}"


def scale_upwards(axes: Axes, curves: Sequence[Curve], y: str) -> None:
    """Logarithmic for times; from zero for rates and shares."""
    drawn = [value for curve in curves for value in curve.y]
    values = drawn + [value for curve in curves for value in curve.bound if value == value]
    hidden = max(values) > HIDDEN_BELOW * max(drawn)
    if (y.endswith("_us") or hidden) and min(values) > 0:
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    else:
        axes.set_ylim(0, max(values) * 1.06 or 1)


def distribution(axes: Axes, records: Sequence[Record]) -> None:
    """Draw the share of the samples up to each value, as the steps that it is."""
    sampled = [(record, record["samples"]) for record in records if isinstance(record.get("samples"), list)]
    if not sampled:
        raise ValueError("no record has samples: measure with --raw")
    for index, (record, samples) in enumerate(sampled[:MOST_LINES]):
        values = sorted(float(sample) for sample in cast(list[Any], samples))
        shares = [(rank + 1) / len(values) for rank in range(len(values))]
        size = number(record, "size_B")
        name = f"{record.get('benchmark')} {iec(size) if size is not None else ''}".strip()
        axes.plot(values, shares, drawstyle="steps-post", color=colour(index), linewidth=1.4, label=name)
    axes.set_xscale("log")
    axes.set_ylim(0, 1)
    unit = sampled[0][0].get("statistic_of", "sample")
    axes.set_xlabel(UPWARDS.get(str(unit), str(unit)), color=INK)
    axes.set_ylabel("Share of samples", color=INK)
    axes.grid(color="#e8e8e8", linewidth=0.7)
    axes.text(0, 1.01, f"{len(sampled)} distributions", transform=axes.transAxes, fontsize=8, color=FAINT, va="bottom")


def title(records: Sequence[Record]) -> str:
    """Say what all points have in common."""
    parts = []
    for key in ("benchmark", "traffic", "fabric", "method", "via", "mpi", "memory"):
        if any(record.get(key) is None for record in records):
            continue
        values = list(dict.fromkeys(str(record[key]) for record in records))
        if 1 <= len(values) <= (3 if key == "benchmark" else 1):
            parts.append(" and ".join(values))
    return ", ".join(parts)
