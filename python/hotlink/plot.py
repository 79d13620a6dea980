"""Bandwidth, cost and cost per bandwidth against nodes, one line a fabric, each named at its end.

The plots of M02's Figs. 13-15, for any fabrics: units on the axes, the same colour for a fabric in every plot, gaps
where a fabric cannot be built. A line is drawn in steps where every number of nodes was computed. Otherwise marks show
the computed ones, and thin lines join them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import log2
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from hotlink.drawing import (
    FAINT,
    INK,
    MARKS,
    THIN,
    End,
    Unit,
    asides,
    bands,
    bar_pt,
    bare,
    colour,
    dash,
    intervals,
    log_upwards,
    moved,
    name_ends,
    numbers,
    plain_number,
    successive,
    ticks_across,
    unit_of,
    write,
)
from hotlink.result import Record

# Beyond this ratio between fabrics a linear axis hides the smaller ones.
LOG_BEYOND = 30
SIZE_IN = (9.0, 5.2)
# What is left for the axis across, in points.
AXIS_PT = 430.0


@dataclass(frozen=True)
class Quantity:
    """The values to draw: the key (a pattern where it carries a currency), the axis label, the title."""

    key: str
    label: str
    title: str


QUANTITIES = {
    "bandwidth": Quantity("bandwidth_per_node_MBps", "Bandwidth per node", "Available bandwidth per node"),
    "cost": Quantity(r"cost_(?P<currency>[A-Z]{3})", "Total cost", "Total cost of the interconnect"),
    "cost-per-MBps": Quantity(
        r"cost_per_MBps_(?P<currency>[A-Z]{3})",
        "Cost per MB/s per node",
        "Cost of one MB/s per node",
    ),
}


@dataclass(frozen=True)
class Line:
    """One fabric's points, in order of nodes; None where there is no value."""

    fabric: str
    nodes: list[int]
    values: list[float | None]

    def is_stepped(self) -> bool:
        """Whether every number of nodes was computed."""
        return successive(self.nodes)

    def known(self) -> list[tuple[int, float]]:
        """The points that have a value."""
        return [(n, value) for n, value in zip(self.nodes, self.values, strict=True) if value is not None]


def save(records: Sequence[Record], folder: Path) -> list[Path]:
    """Write every plot that the records allow into ``folder``, as PNG and SVG."""
    files = []
    folder.mkdir(parents=True, exist_ok=True)
    for name in QUANTITIES:
        for year, of_year in years_of(records, name).items():
            if any(lines_of(of_year, key).values() for key in keys_of(of_year, name)):
                figure = draw(of_year, name)
                stem = f"{name}-{year}" if year else name
                files += [write(figure, folder / f"{stem}.{suffix}") for suffix in ("png", "svg")]
    return files


def years_of(records: Sequence[Record], quantity: str) -> dict[str, list[Record]]:
    """Group the records by the year of their prices, each for a plot of its own: its money is another.

    There is one group where no
    money is drawn, or where it is of one year.
    """
    years = dict.fromkeys(str(record["prices_year"]) for record in records if record.get("prices_year") is not None)
    if quantity == "bandwidth" or len(years) < 2:
        return {"": list(records)}
    return {year: [record for record in records if str(record.get("prices_year")) == year] for year in years}


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
    if len(years_of(records, quantity)) > 1:
        what = replace(what, label=f"{what.label}, years as they are")
    lines = lines_of(records, key)
    # The interval of prices, or of what the inputs' uncertainty does.
    ends = [lines_of(records, f"{key}_{end}") for end in ("low", "high")]
    currency = re.fullmatch(what.key, key)
    money = currency.groupdict().get("currency") if currency else None
    known = [(index, line) for index, line in enumerate(lines.values()) if line.known()]
    values = [value for _, line in known for _, value in line.known()]
    unit = unit_of(key, values, money, is_logarithmic(lines))
    figure = Figure(figsize=SIZE_IN, layout=ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.12))
    axes = figure.add_subplot()
    place = place_of(sorted({n for _, line in known for n, _ in line.known()}))
    ranged = [name for name in lines if all(name in end and end[name].known() for end in ends)]
    barred = [name for name in ranged if not lines[name].is_stepped()]
    sides = asides(len(barred), [place(n) for name in barred for n in lines[name].nodes], AXIS_PT)
    named = []
    for index, line in known:
        beside = sides[barred.index(line.fabric)] if len(barred) > 1 and line.fabric in barred else 0.0
        mark = MARKS[index % len(MARKS)] if len(barred) > 1 else "o"
        end = End(index, line.fabric, *line.known()[-1], aside=beside, mark=mark, bar_pt=bar_pt(sides))
        (drawn,) = axes.plot(line.nodes, nan(line.values), color=colour(index), linestyle=dash(index))
        drawn.set(label=line.fabric, transform=moved(axes, beside))
        if line.is_stepped():
            drawn.set(drawstyle="steps-post", linewidth=1.7)
        else:
            drawn.set(marker=end.mark, markersize=4 if len(barred) > 1 else 3.2, linewidth=THIN)
        if line.fabric in ranged:
            least, most = (nan(of[line.fabric].values) for of in ends)
            intervals(axes, line.nodes, (least, most), bands(line.nodes, line.is_stepped(), is_whole=True), end)
        named.append(end)
    style(axes, lines, unit, what, [value for line in ends[1].values() for _, value in line.known()])
    below = subtitle(records) if quantity == "bandwidth" else prices(records)
    axes.set_title(what.title, loc="left", fontsize=13, fontweight="bold", color=INK, pad=22 if below else 8)
    axes.text(0, 1.02, below, transform=axes.transAxes, fontsize=9, color=FAINT, va="bottom")
    name_ends(figure, [(axes, named)])
    return figure


def nan(values: Iterable[float | None]) -> list[float]:
    """Values to draw: where there is none is a gap."""
    return [float("nan") if value is None else value for value in values]


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
    """Values that all points have in common."""
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


def place_of(nodes: Sequence[int]) -> Callable[[float], float]:
    """Where numbers of nodes lie across: by their logarithms where they are of several orders."""
    return log2 if max(nodes) > 512 and max(nodes) > 32 * max(1, min(nodes)) else float


def style(axes: Axes, lines: dict[str, Line], unit: Unit, what: Quantity, tops: Sequence[float]) -> None:
    """Axes and grid; ``tops`` are the upper ends of intervals."""
    points = [point for line in lines.values() for point in line.known()]
    nodes, values = [n for n, _ in points], [value for _, value in points]
    axes.set_xlabel("Nodes", color=INK)
    axes.set_ylabel(unit.label(what.label), color=INK)
    bare(axes)
    sizes = sorted(set(nodes))
    place = place_of(sizes)
    if place is not float:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        # Bars of the last number have room beside it.
        axes.set_xlim(0, max(nodes) * (1.03 if tops else 1.005))
    axes.xaxis.set_major_locator(FixedLocator(ticks_across(sizes, AXIS_PT, place, plain_number)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: plain_number(value)))
    if is_logarithmic(lines):
        log_upwards(axes, unit)
    else:
        axes.set_ylim(0, max([*values, *tops]) * 1.05)
        numbers(axes, unit)


def is_logarithmic(lines: dict[str, Line]) -> bool:
    """Whether fabrics lie so far apart that a linear axis would hide some."""
    known = [sorted(value for _, value in line.known()) for line in lines.values() if line.known()]
    middles = [values[len(values) // 2] for values in known]
    return min(values[0] for values in known) > 0 and max(middles) > LOG_BEYOND * min(middles)
