"""Bandwidth, cost and cost per bandwidth against nodes, one line a fabric, each named at its end.

The plots of M02's Figs. 13-15, for any fabrics: units on the axes, the same colour for a fabric in every plot, gaps
where a fabric cannot be built.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log10
from pathlib import Path
from typing import Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, LogLocator, MultipleLocator, NullFormatter

from hotlink.result import Record

# Dark enough for lines on white, apart for most colour-blind readers; dashes tell the second round from the first.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#AA3377", "#B8860B", "#56A5D8", "#444444", "#8C564B"]
DASHES = ["-", (0, (5, 1.5)), (0, (1.5, 1.2))]
INK, FAINT = "#222222", "#8a8a8a"
LABEL_PT = 8.5
# Beyond this ratio between fabrics a linear axis hides the smaller ones.
LOG_BEYOND = 30
# A line that stops before this share of the nodes is named where it stops.
NEAR_END = 0.9


@dataclass(frozen=True)
class Quantity:
    """What to draw: the key (a pattern where it carries a currency), the axis label, the title."""

    key: str
    label: str
    title: str


QUANTITIES = {
    "bandwidth": Quantity("bandwidth_per_node_MBps", "Bandwidth per node (MB/s)", "Available bandwidth per node"),
    "cost": Quantity(r"cost_(?P<currency>[A-Z]{3})", "Total cost ({currency})", "Total cost of the interconnect"),
    "cost-per-MBps": Quantity(
        r"cost_per_MBps_(?P<currency>[A-Z]{3})",
        "Cost per MB/s per node ({currency})",
        "Cost of one MB/s per node",
    ),
}


@dataclass(frozen=True)
class Line:
    """One fabric's points, in order of nodes; None where there is no value."""

    fabric: str
    nodes: list[int]
    values: list[float | None]

    def known(self) -> list[tuple[int, float]]:
        """The points that have a value."""
        return [(n, value) for n, value in zip(self.nodes, self.values, strict=True) if value is not None]


def save(records: Sequence[Record], folder: Path) -> list[Path]:
    """Write every plot that the records allow into ``folder``, as PNG and SVG."""
    files = []
    for name in QUANTITIES:
        if any(lines_of(records, key).values() for key in keys_of(records, name)):
            figure = draw(records, name)
            for suffix in ("png", "svg"):
                files.append(write(figure, folder / f"{name}.{suffix}"))
    return files


def write(figure: Figure, file: Path) -> Path:
    """Write a figure without a date: the same records give the same bytes."""
    with mpl.rc_context({"svg.hashsalt": "hotlink", "svg.fonttype": "none"}):
        dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
        figure.savefig(file, dpi=160, metadata=dates.get(file.suffix))
    return file


def draw(records: Sequence[Record], quantity: str = "bandwidth") -> Figure:
    """Draw one quantity against nodes. Raises ValueError for an unknown quantity or records without it."""
    if quantity not in QUANTITIES:
        raise ValueError(f"quantity {quantity!r} is not one of {', '.join(QUANTITIES)}")
    keys = keys_of(records, quantity)
    if not keys:
        raise ValueError(f"no record has a value for {quantity!r}: to_polars() gives the records as a table")
    if len(keys) > 1:
        raise ValueError(f"one plot cannot hold several currencies: {', '.join(keys)}")
    what, key = QUANTITIES[quantity], keys[0]
    lines = lines_of(records, key)
    # The interval of prices, or of what the inputs' uncertainty does.
    ends = [lines_of(records, f"{key}_{end}") for end in ("low", "high")]
    figure = Figure(figsize=(9.0, 5.2), layout=ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.12))
    axes = figure.add_subplot()
    for line in lines.values():
        index = list(lines).index(line.fabric)
        dash = DASHES[index // len(COLOURS) % len(DASHES)]
        values = [float("nan") if value is None else value for value in line.values]
        axes.plot(line.nodes, values, color=colour(index), linestyle=dash, linewidth=1.7, label=line.fabric)
        low, high = ends[0].get(line.fabric), ends[1].get(line.fabric)
        if low is not None and high is not None and low.known() and high.known():
            least, most = ([float("nan") if value is None else value for value in end.values] for end in (low, high))
            axes.fill_between(line.nodes, least, most, color=colour(index), alpha=0.12, linewidth=0)
    currency = re.fullmatch(what.key, key)
    unit = currency.groupdict().get("currency", "") if currency else ""
    below = subtitle(records) if quantity == "bandwidth" else prices(records)
    style(axes, lines, what.label.format(currency=unit), what.title, below)
    name_ends(figure, axes, lines)
    return figure


def colour(index: int) -> str:
    """The colour of the fabric with this place in the records."""
    return COLOURS[index % len(COLOURS)]


def keys_of(records: Iterable[Record], quantity: str) -> list[str]:
    """The keys that hold a quantity: several if there are several currencies."""
    pattern = re.compile(QUANTITIES[quantity].key)
    found = (key for record in records for key, value in record.items() if value is not None and pattern.fullmatch(key))
    return list(dict.fromkeys(found))


def lines_of(records: Iterable[Record], key: str) -> dict[str, Line]:
    """The records' points by fabric, in order of first appearance."""
    lines: dict[str, Line] = {}
    for record in records:
        fabric, nodes, value = record.get("fabric"), record.get("nodes"), record.get(key)
        if not isinstance(fabric, str) or not isinstance(nodes, int):
            continue
        line = lines.setdefault(fabric, Line(fabric, [], []))
        line.nodes.append(nodes)
        line.values.append(float(value) if isinstance(value, int | float) else None)
    return lines


def subtitle(records: Iterable[Record]) -> str:
    """What all points have in common."""
    shared = []
    for key, text in (("traffic", "{} traffic"), ("capacities", "{} capacities")):
        values = {record[key] for record in records if record.get(key) is not None}
        if len(values) == 1:
            shared.append(text.format(values.pop()))
    return ", ".join(shared)


def prices(records: Iterable[Record]) -> str:
    """The price lists used, with their dates, and how good they are."""
    lists = (tuple(record.get(f"prices{key}") for key in ("", "_date", "_status")) for record in records)
    named = [f"{name} ({date}, {status})" for name, date, status in dict.fromkeys(lists) if name]
    return f"prices: {', '.join(named)}" if named else ""


def style(axes: Axes, lines: dict[str, Line], label: str, title: str, below: str) -> None:
    """Axes, grid and title."""
    points = [point for line in lines.values() for point in line.known()]
    nodes, values = [n for n, _ in points], [value for _, value in points]
    axes.set_title(title, loc="left", fontsize=13, fontweight="bold", color=INK, pad=22 if below else 8)
    axes.text(0, 1.02, below, transform=axes.transAxes, fontsize=9, color=FAINT, va="bottom")
    axes.set_xlabel("Nodes", color=INK)
    axes.set_ylabel(label, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    if max(nodes) > 512 and max(nodes) > 32 * max(1, min(nodes)):
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}"))
    else:
        axes.set_xlim(0, max(nodes) * 1.005)
        if max(nodes) >= 32:
            axes.xaxis.set_major_locator(MultipleLocator(max(16, 2 ** (max(nodes) // 8).bit_length() // 2)))
    middles = [
        sorted(value for _, value in line.known())[len(line.known()) // 2] for line in lines.values() if line.known()
    ]
    if min(values) > 0 and max(middles) > LOG_BEYOND * min(middles):
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(0, max(values) * 1.05)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,.0f}" if y >= 10 or y == 0 else f"{y:g}"))


def name_ends(figure: Figure, axes: Axes, lines: dict[str, Line]) -> None:
    """Name each line at its last point: beside the plot, pushed apart so that no two names touch, or where it stops."""
    ends = [(index, line.fabric, *line.known()[-1]) for index, line in enumerate(lines.values()) if line.known()]
    last = max(n for _, _, n, _ in ends)
    beside = sorted((end for end in ends if end[2] >= NEAR_END * last), key=lambda end: end[3])
    step = 1.35 * LABEL_PT / 72 / (figure.get_figheight() * 0.8)
    places = spread([height(axes, value) for _, _, _, value in beside], step)
    for (index, fabric, n, value), place in zip(beside, places, strict=True):
        leader = {"arrowstyle": "-", "color": colour(index), "linewidth": 0.6, "shrinkA": 1, "shrinkB": 2}
        name_at(axes, index, fabric, (n, value), (1.025, place), "axes fraction", {**leader, "relpos": (0, 0.5)})
    for index, fabric, n, value in (end for end in ends if end not in beside):
        name_at(axes, index, fabric, (n, value), (5, 5), "offset points", None)


def name_at(
    axes: Axes,
    index: int,
    fabric: str,
    point: tuple[float, float],
    place: tuple[float, float],
    unit: Literal["axes fraction", "offset points"],
    leader: dict[str, object] | None,
) -> None:
    """Write a fabric's name in its colour, and mark the point that it belongs to."""
    name = axes.annotate(
        fabric,
        xy=point,
        xytext=place,
        textcoords=unit,
        color=colour(index),
        fontsize=LABEL_PT,
        va="center",
        annotation_clip=False,
        arrowprops=leader,
    )
    if leader is None:
        name.set_path_effects([withStroke(linewidth=2.5, foreground="white")])
    axes.plot(*[[x] for x in point], marker="o", markersize=3.2, color=colour(index), clip_on=False)


def height(axes: Axes, value: float) -> float:
    """Where on the value axis a value lies, 0 to 1."""
    low, high = axes.get_ylim()
    if axes.get_yscale() == "log":
        return (log10(value) - log10(low)) / (log10(high) - log10(low))
    return (value - low) / (high - low)


def spread(wanted: Sequence[float], step: float) -> list[float]:
    """Places at least ``step`` apart, as near as can be to the wanted ones (ascending), inside 0..1 where they fit."""
    groups: list[tuple[float, int]] = []
    for place in wanted:
        groups.append((place, 1))
        while len(groups) > 1 and touches(groups[-2], groups[-1], step):
            (above, n), (below, m) = groups.pop(), groups.pop()
            groups.append(((above * n + below * m) / (n + m), n + m))
    places = [centre + (i - (n - 1) / 2) * step for centre, n in groups for i in range(n)]
    over = max(0.0, max(places, default=0.0) - 1.0)
    return push_up([place - over for place in places], step) if over else push_up(places, step)


def touches(lower: tuple[float, int], upper: tuple[float, int], step: float) -> bool:
    """Whether two groups of names, each around a centre, overlap."""
    return upper[0] - lower[0] < (lower[1] + upper[1]) / 2 * step


def push_up(places: list[float], step: float) -> list[float]:
    """Lift what lies below 0, and whatever that pushes."""
    lifted: list[float] = []
    for place in places:
        floor = lifted[-1] + step if lifted else 0.0
        lifted.append(max(place, floor))
    assert all(b - a >= step * 0.999 for a, b in pairwise(lifted))
    return lifted
