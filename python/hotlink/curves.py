"""Results as curves: measured values against swept ones, with the field's conventions.

Sizes have a log2 axis with IEC labels, latencies a logarithmic one. Medians have their 95 % interval as a band. Only
bounds are dotted, in the colour of their line, or in grey where lines share one. A model over nodes is drawn in steps
where every number of nodes was computed. Otherwise marks show the computed ones, and thin lines join them.

A line has its name at its end. Where lines are many or hide each other, each has a chart of its own with the others in
grey.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import ceil, log, log2
from pathlib import Path
from textwrap import fill
from typing import Any, Literal, cast, get_args

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from hotlink import _core
from hotlink.drawing import (
    COLOURS,
    DOTS,
    FAINT,
    INK,
    MARKS,
    THIN,
    End,
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
from hotlink.drawing import UNITS as SCALES
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
    "latency_us": "Latency",
    "bandwidth_MBps": "Bandwidth",
    "bandwidth_per_node_MBps": "Bandwidth per node",
    "algorithm_bandwidth_MBps": "Algorithm bandwidth",
    "bus_bandwidth_MBps": "Bus bandwidth",
    "messages_per_s": "Messages",
    "overlap": "Overlap (share of the message's time)",
    "efficiency": "Efficiency (share of the bound)",
    "injection_share": "Share of a node's injection",
}
# How a number was found, in a title.
FOUND = {
    "formula": "computed",
    "load": "computed",
    "packet": "simulated",
    "measured": "measured",
}
# The ending of a cost's key: its currency.
CURRENCY = re.compile(r"cost(?:_\w+)?_(?P<currency>[A-Z]{3})")
# The year that money is of: that of another year is another money.
YEAR = "prices_year"
MOST_LINES = 24
MOST_ROWS = 8
Panels = Literal["auto", "one", "each"]
# A chart with lines together, and one of many small ones, in inches.
WIDE_IN, HIGH_IN = 6.2, 3.8
SMALL_IN = (2.9, 2.2)
# What is left of them for the axis across, in points.
WIDE_PT, SMALL_PT = 290.0, 150.0
SMALL_ACROSS = 4
# Letters of a small chart's title in a line.
SMALL_TITLE = 38
# Letters of the label beside a small chart, which is not much longer.
SMALL_LABEL = 26
# A bound so many times the values would press them flat on a linear axis.
HIDDEN_BELOW = 4
# Lines that end so many times below others lie flat on a linear axis.
HIDDEN_BESIDE = 30
# Lines nearer than this share of the axis's height, at so many of their points, hide each other.
NEAR, NEAR_POINTS = 0.012, 0.75
# An interval is seen on a logarithmic axis where its ends are so many times apart.
SEEN = 1.1
# Models of whole machines: between two numbers of nodes there is nothing.
MODELS = {"formula", "load"}
WHOLE_ACROSS = {"nodes", "ranks"}
# Lines with more points have no marks.
MOST_MARKS = 40
# Text that tells what came out, not what was asked: it never parts a line. A file stands for the hosts it is of.
TOLD = frozenset(_core.TOLD) - {"file"} | {
    "ahead_after",
    "ahead_before",
    "first_placement",
    "lanes",
    "node_list",
    "nodes_per_switch_is",
    "permutation_worst_seed",
    "rank_nodes",
    "ring_worst_seed",
    "shift_worst",
}
# Title and notes: their sizes in points, and how many letters an inch holds.
TITLE_PT, NOTE_PT = 12, 8
TITLE_LETTERS, NOTE_LETTERS = 8, 14
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


@dataclass
class Curve:
    """One line: its points in order, the interval around each, and its bound."""

    name: str
    by_nodes: bool
    x: list[float] = field(default_factory=list)
    y: list[float] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    bound: list[float] = field(default_factory=list)
    # Points of which no interval is known.
    unknown: int = 0
    is_range: bool = False

    def is_stepped(self) -> bool:
        """Whether its points are all that there are."""
        return self.by_nodes and successive(self.x)

    def is_marked(self) -> bool:
        """Whether each point is drawn: where they are few, or where lines join numbers of nodes with others between."""
        return not self.is_stepped() and (self.by_nodes or len(self.x) <= MOST_MARKS)

    def runs(self) -> list[range]:
        """Its points where it has intervals: neighbours have a band, others a bar each."""
        return bands(self.x, self.is_stepped(), self.by_nodes) if self.low != self.high else []

    def is_seen(self, at: int) -> bool:
        """Whether a point's interval is longer than its mark is high."""
        low, high = self.low[at], self.high[at]
        return high - low > NEAR * max(self.y) or high > SEEN * low > 0

    def has_bars(self) -> bool:
        """Whether intervals are drawn as bars, and seen."""
        return any(len(run) == 1 and self.is_seen(run.start) for run in self.runs())

    def has_bands(self) -> bool:
        """Whether intervals are drawn as bands, and seen."""
        return any(len(run) > 1 and any(self.is_seen(at) for at in run) for run in self.runs())

    def is_at_bound(self) -> bool:
        """Whether it cannot be distinguished from its bound."""
        both = [(value, bound) for value, bound in zip(self.y, self.bound, strict=True) if bound == bound]
        return bool(both) and all(abs(value - bound) <= NEAR * abs(bound) for value, bound in both)

    def drawstyle(self) -> Literal["steps-post", "default"]:
        """How its points hang together."""
        return "steps-post" if self.is_stepped() else "default"

    def linewidth(self) -> float:
        """Thin where a line only joins what was computed."""
        return THIN if self.by_nodes and not self.is_stepped() else 1.6


@dataclass(frozen=True)
class Look:
    """The make-up of a picture: its title, the text below it, and whether lines share a chart."""

    title: str | None = None
    notes: Sequence[str] = ()
    panels: Panels = "auto"


def save(
    records: Sequence[Record],
    file: Path,
    x: str | None,
    y: Sequence[str],
    facet: str | None = None,
    look: Look | None = None,
) -> None:
    """Draw into a file. Raises ValueError where the records have nothing to draw."""
    write(draw(records, x, y, facet, look), file)


def rows_of(records: Sequence[Record], facet: str | None) -> dict[Value, list[Record]]:
    """Group the records by the value of a key, in the order in which the values come; one group without a key."""
    rows: dict[Value, list[Record]] = {}
    for record in records:
        if facet is None or record.get(facet) is not None:
            rows.setdefault(None if facet is None else record[facet], []).append(record)
    if facet is not None and not 1 <= len(rows) <= MOST_ROWS:
        raise ValueError(f"--facet {facet}: {len(rows)} values; must be 1 to {MOST_ROWS}")
    return rows


def draw(
    records: Sequence[Record],
    x: str | None = None,
    y: Sequence[str] = (),
    facet: str | None = None,
    look: Look | None = None,
) -> Figure:
    """Draw the records, one chart for each of ``y``, and a row of those for each value of ``facet``.

    Raises ValueError where the records have nothing to draw.
    """
    look = look or Look()
    if look.panels not in get_args(Panels):
        raise ValueError(f"panels {look.panels!r} is not one of {', '.join(get_args(Panels))}")
    rows = rows_of(records, facet)
    records = [record for group in rows.values() for record in group]
    wanted = list(y) or [key for key in ("latency_us", "bandwidth_MBps") if has(records, key)]
    wanted = wanted or [key for key in UPWARDS if has(records, key)][:1]
    known = sorted({key for record in records for key in record if has(records, key)})
    if not wanted or not all(key == "samples" or has(records, key) for key in wanted):
        raise ValueError(f"nothing to draw of {', '.join(wanted) or 'these records'}; allowed: {', '.join(known)}")
    if money_is_mixed(rows, wanted, facet):
        facet, rows = YEAR, rows_of(records, YEAR)
    across = {key: x or swept(records, key) for key in wanted if key != "samples"}
    points = [record for key in across for record in drawn(records, across[key], key)]
    differing = [key for key in differing_keys(points, across.values()) if key != facet]
    curves = {
        (value, key): curves_of(group, across[key], key, differing, telling(points, differing))
        for value, group in rows.items()
        for key in across
        if drawn(group, across[key], key)
    }
    named: list[tuple[Axes, list[End]]] = []
    if facet is None and "samples" not in wanted and is_split(look.panels, curves):
        figure = small_multiples({key: curves[None, key] for key in wanted}, across)
    else:
        figure, named = rows_of_charts(rows, wanted, curves, across, facet)
    notes = [*look.notes]
    if any(has_years(records, key) for key in wanted):
        notes += ["Money of another year is another: each year's chart has a scale of its own."]
    notes += [*explained([curve for all_of in curves.values() for curve in all_of])]
    surround(figure, look.title or title(points or records, across), "\n".join(notes))
    name_ends(figure, named)
    return figure


def years_of(records: Iterable[Record], key: str) -> list[str]:
    """The years that the money under a key is of; none where it is no money."""
    if not CURRENCY.fullmatch(key):
        return []
    return sorted({str(r[YEAR]) for r in records if number(r, key) is not None and r.get(YEAR) is not None})


def has_years(records: Iterable[Record], key: str) -> bool:
    """Whether there is money of several years under a key."""
    return len(years_of(records, key)) > 1


def money_is_mixed(rows: dict[Value, list[Record]], wanted: Sequence[str], facet: str | None) -> bool:
    """Whether a chart would hold money of several years. Raises ValueError where no chart for each year helps."""
    for key in wanted:
        for group in rows.values():
            if has_years(group, key) and (facet is not None or len(wanted) > 1):
                years = ", ".join(years_of(group, key))
                raise ValueError(f"{key} is of several years ({years}): draw it alone and without --facet")
    return any(has_years(group, key) for group in rows.values() for key in wanted)


def surround(figure: Figure, above: str, below: str) -> None:
    """Write a title and notes, in as many lines as the width needs; charts keep their height."""
    width = figure.get_figwidth()
    above, below = folded(above, int(width * TITLE_LETTERS)), folded(below, int(width * NOTE_LETTERS))
    more = 1.25 / 72 * (above.count("\n") * TITLE_PT + below.count("\n") * NOTE_PT)
    figure.set_figheight(figure.get_figheight() + more)
    figure.suptitle(above, x=0.01, ha="left", fontsize=TITLE_PT, fontweight="bold", color=INK)
    if below:
        figure.supxlabel(below, x=0.01, ha="left", fontsize=NOTE_PT, color=FAINT)


def folded(text: str, letters: int) -> str:
    """Break each line of a text that is longer than `letters`."""
    return "\n".join(fill(line, letters) for line in text.splitlines())


def explained(curves: Sequence[Curve]) -> list[str]:
    """Meanings of marks that no axis shows."""
    lengths = {len(bound_of(curve)) for curve in curves} - {0}
    # Dots on their own line are not seen.
    is_line = any(len(bound_of(curve)) > 1 and not curve.is_at_bound() for curve in curves)
    said = ["Dotted: the bound."] * is_line + ["Short bar: the bound of a point."] * (1 in lengths)
    said += reached(curves)
    meanings = {False: "95 % intervals of the medians", True: "from the least to the most that prices and inputs allow"}
    for is_range, meaning in meanings.items():
        of = [curve for curve in curves if curve.is_range == is_range]
        looks = ["shaded"] * any(curve.has_bands() for curve in of) + ["bars"] * any(curve.has_bars() for curve in of)
        said += [f"{' and '.join(looks).capitalize()}: {meaning}."] if looks else []
        if looks and any(curve.unknown for curve in of):
            why = "was not computed (--sensitivity computes all)" if is_range else "is not known"
            said += [f"A point without one: its interval {why}."]
    return [" ".join(said)] if said else []


def reached(curves: Sequence[Curve]) -> list[str]:
    """Name the lines that lie on their bounds, which readers cannot see there."""
    bounded = [curve for curve in curves if bound_of(curve)]
    on = [curve for curve in bounded if curve.is_at_bound()]
    if not on:
        return []
    if len(on) == len(bounded):
        return ["Every line lies on its bound."] if len(on) > 1 else ["The line lies on its bound."]
    off = {curve.name for curve in bounded if not curve.is_at_bound()}
    some = [name for name in dict.fromkeys(curve.name for curve in on) if name not in off]
    return [f"On their bounds: {', '.join(some)}."] if some else []


def is_split(panels: Panels, curves: dict[tuple[Value, str], list[Curve]]) -> bool:
    """Whether each line gets a chart of its own."""
    most = max((len(lines) for lines in curves.values()), default=0)
    if most < 2 or panels == "one":
        return False
    return panels == "each" or most > len(COLOURS) or any(hide(lines, key) for (_, key), lines in curves.items())


def hide(curves: Sequence[Curve], y: str) -> bool:
    """Whether a line lies on another nearly everywhere."""
    values = [value for curve in curves for value in curve.y]
    is_log = is_logarithmic(curves, y)
    low, high = (min(values), max(values)) if is_log else (0.0, max(values))
    extent = log(high / low) if is_log else high - low
    if extent <= 0:
        return len(curves) > 1

    def apart(a: float, b: float) -> float:
        return abs(log(a / b) if is_log else a - b) / extent

    for index, curve in enumerate(curves):
        for other in curves[:index]:
            there = dict(zip(other.x, other.y, strict=True))
            both = [apart(value, there[at]) for at, value in zip(curve.x, curve.y, strict=True) if at in there]
            if len(both) > 1 and sum(distance < NEAR for distance in both) >= NEAR_POINTS * len(both):
                return True
    return False


def rows_of_charts(
    rows: dict[Value, list[Record]],
    wanted: Sequence[str],
    curves: dict[tuple[Value, str], list[Curve]],
    across: dict[str, str],
    facet: str | None,
) -> tuple[Figure, list[tuple[Axes, list[End]]]]:
    """A row of charts for each value of a facet, a column for each quantity; a name has one colour in all of them.

    With each chart stand the ends of its lines, which get their names when all else is in its place.
    """
    named: list[tuple[Axes, list[End]]] = []
    size = (WIDE_IN * len(wanted), 0.8 + HIGH_IN * len(rows))
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(h_pad=0.1, w_pad=0.1))
    charts = figure.subplots(len(rows), len(wanted), squeeze=False)
    places: dict[str, int] = {}
    every = {key: [curve for (_, of), lines in curves.items() if of == key for curve in lines] for key in wanted}
    # Rows are compared: a quantity has one scale in all of them, but for money of several years.
    shared = {key for key in wanted if not has_years((record for group in rows.values() for record in group), key)}
    for row, (value, group) in zip(charts, rows.items(), strict=True):
        for axes, key in zip(row, wanted, strict=True):
            if key == "samples":
                distribution(axes, group)
            elif (value, key) in curves:
                scaled = every[key] if key in shared else curves[value, key]
                named.append((axes, chart(axes, curves[value, key], scaled, (across[key], key), places)))
            if facet is not None:
                said = f"{facet} {value}"
                if facet == YEAR:
                    lines = curves.get((value, key), [])
                    said = ": ".join([f"Prices of {value}", *(line.name for line in lines if len(lines) == 1)])
                axes.set_title(said, loc="left", fontsize=9, color=INK)
    return figure, named


def small_multiples(curves: dict[str, list[Curve]], across: dict[str, str]) -> Figure:
    """A small chart for each line, with the same axes and the others in grey."""
    rows = {key: ceil(len(lines) / SMALL_ACROSS) for key, lines in curves.items()}
    columns = min(SMALL_ACROSS, max(len(lines) for lines in curves.values()))
    size = (max(6.0, SMALL_IN[0] * columns), 0.8 + SMALL_IN[1] * sum(rows.values()))
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(h_pad=0.08, w_pad=0.08))
    charts = figure.subplots(sum(rows.values()), columns, squeeze=False)
    above = 0
    for key, lines in curves.items():
        places = list(charts[above : above + rows[key]].flat)
        above += rows[key]
        for axes, line in zip(places, lines, strict=False):
            for other in lines:
                axes.plot(other.x, other.y, color="#cccccc", linewidth=0.8, drawstyle=other.drawstyle(), zorder=1)
            plain(axes, line, End(0, line.name, line.x[-1], line.y[-1]), COLOURS[0])
            axes.set_yscale("log" if is_logarithmic(lines, key) else "linear")
        limits = [axes.get_ylim() for axes in places[: len(lines)]]
        for place, axes in enumerate(places):
            if place >= len(lines):
                axes.set_axis_off()
                continue
            axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
            framed(axes, lines, across[key], key, SMALL_PT)
            axes.set_title(fill(lines[place].name, SMALL_TITLE), loc="left", fontsize=8.5, color=COLOURS[0])
            axes.set_ylabel(fill(axes.get_ylabel(), SMALL_LABEL), color=INK)
            # All have the same axes: their numbers stand at the left and below.
            if place + columns < len(lines):
                axes.set_xlabel("")
                axes.tick_params(labelbottom=False)
            if place % columns:
                axes.set_ylabel("")
                axes.tick_params(labelleft=False)
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
    raise ValueError(f"nothing is swept: none of {', '.join(ACROSS)} takes two values; say which key is across")


def is_asked(key: str, value: Value) -> bool:
    """Whether a field distinguishes lines: an input, in text or whole numbers."""
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


def curves_of(
    records: Sequence[Record],
    x: str,
    y: str,
    differing: Sequence[str] | None = None,
    naming: Sequence[str] | None = None,
) -> list[Curve]:
    """Group the points into curves by all other inputs, named by the differences between them.

    Without differences, a curve has its method's name: one legend serves charts of several quantities.
    """
    points = drawn(records, x, y)
    if not points:
        raise ValueError(f"no record has a number for both {x} and {y}")
    if differing is None:
        differing = differing_keys(points, [x])
    naming = telling(points, differing) if naming is None else naming
    curves: dict[tuple[Value, ...], Curve] = {}
    for record in sorted(points, key=lambda record: number(record, x) or 0.0):
        group = tuple(record.get(key) for key in differing)
        values = [(key, record.get(key)) for key in naming]
        named = [f"{key} {value}" if isinstance(value, int) else str(value) for key, value in values]
        by_nodes = record.get("method") in MODELS and x in WHOLE_ACROSS
        name = ", ".join(n for n in named if n != "None") or str(record.get("method", "value"))
        curve = curves.setdefault(group, Curve(name, by_nodes))
        add(curve, record, x, y)
    if len(curves) > MOST_LINES:
        raise ValueError(
            f"{len(curves)} lines are too many for one chart: at most {MOST_LINES}; they differ in {differing}"
        )
    return [curves[group] for group in dict.fromkeys(tuple(r.get(key) for key in differing) for r in points)]


def telling(points: Sequence[Record], differing: Sequence[str]) -> list[str]:
    """Choose keys that distinguish all groups, those of every record first; each distinguishes more than the last."""
    chosen: list[str] = []
    for key in sorted(differing, key=lambda key: any(record.get(key) is None for record in points)):
        with_it = {tuple(record.get(name) for name in [*chosen, key]) for record in points}
        if len(with_it) > len({tuple(record.get(name) for name in chosen) for record in points}):
            chosen.append(key)
    return chosen


def add(curve: Curve, record: Record, x: str, y: str) -> None:
    """Add a record's point, its interval and its bound."""
    value, (low, high) = number(record, y) or 0.0, interval(record, y)
    if low is None and has_range(record, y):
        low, high = number(record, f"{y}_low"), number(record, f"{y}_high")
        curve.is_range = True
    curve.unknown += low is None and value > 0
    curve.x.append(number(record, x) or 0.0)
    curve.y.append(value)
    curve.low.append(value if low is None else low)
    curve.high.append(value if high is None else high)
    bound = number(record, f"bound_{y}")
    curve.bound.append(float("nan") if bound is None else bound)


def has_range(record: Record, y: str) -> bool:
    """Whether a record says how far a value may lie off by its inputs."""
    return all(number(record, f"{y}_{end}") is not None for end in ("low", "high"))


def interval(record: Record, y: str) -> tuple[float | None, float | None]:
    """Give the 95 % interval of a value: its own, or that of the time it was computed from."""
    low, high, of = number(record, "ci95_low"), number(record, "ci95_high"), record.get("statistic_of")
    if low is None or high is None or of == y:
        return (low, high) if of == y else (None, None)
    size = number(record, "size_B")
    if (of, y) == ("latency_us", "bandwidth_MBps") and size and low > 0 and high > 0:
        return size / high, size / low
    return None, None


def chart(
    axes: Axes, curves: Sequence[Curve], scaled: Sequence[Curve], keys: tuple[str, str], places: dict[str, int]
) -> list[End]:
    """Draw curves, intervals and bounds on one set of axes; the place of a name gives its colour.

    Give the lines' ends, if they are to be named.

    The axes have room for all of ``scaled``: charts of the same ones have the same axes.
    """
    ends: list[End] = []
    # A bound of several lines, or of a colour that two lines have, is grey.
    is_shared = len({bound_of(curve) for curve in curves}) < len(curves) or len(curves) > len(COLOURS)
    barred = [curve for curve in curves if curve.has_bars()]
    place = place_across(sorted({value for curve in scaled for value in curve.x}), keys[0])
    sides = asides(len(barred), [place(value) for curve in barred for value in curve.x], WIDE_PT)
    beside_of = {id(curve): side for curve, side in zip(barred, sides, strict=True)}
    for curve in curves:
        index = places.setdefault(curve.name, len(places))
        # Bars of several lines at one place lie beside each other.
        beside = beside_of.get(id(curve), 0.0)
        mark = MARKS[(index if len(barred) > 1 else index // len(COLOURS)) % len(MARKS)]
        end = End(index, curve.name, curve.x[-1], curve.y[-1], aside=beside, mark=mark, bar_pt=bar_pt(sides))
        plain(axes, curve, end, FAINT if is_shared else colour(index))
        ends.append(end)
    for curve in scaled:
        for heights in (curve.y, curve.low, curve.high, curve.bound):
            axes.update_datalim(list(zip(curve.x, heights, strict=True)))
    axes.autoscale_view()
    framed(axes, scaled, *keys, WIDE_PT)
    return ends if len(ends) > 1 else []


def bound_of(curve: Curve) -> tuple[tuple[float, float], ...]:
    """The bound where there is one."""
    return tuple((at, bound) for at, bound in zip(curve.x, curve.bound, strict=True) if bound == bound)


def plain(axes: Axes, curve: Curve, end: End, bound_colour: str) -> None:
    """Draw one curve with its intervals and its bound."""
    mark = end.mark if curve.is_marked() else ""
    (line,) = axes.plot(curve.x, curve.y, linewidth=curve.linewidth(), marker=mark, markersize=3)
    line.set(color=end.ink(), linestyle=dash(end.index), drawstyle=curve.drawstyle(), label=curve.name)
    if end.aside:
        line.set(transform=moved(axes, end.aside), markersize=4)
    intervals(axes, curve.x, (curve.low, curve.high), curve.runs(), end)
    if bound := bound_of(curve):
        (line,) = axes.plot(*zip(*bound, strict=True), linestyle=DOTS, linewidth=1.4)
        line.set(color=bound_colour, drawstyle=curve.drawstyle(), label="bound")
        if len(bound) == 1:
            line.set(marker="_", markersize=12)


def framed(axes: Axes, curves: Sequence[Curve], x: str, y: str, width_pt: float) -> None:
    """Axes with their scales and labels; the one across is so many points long."""
    bare(axes)
    scale_across(axes, curves, x, width_pt)
    scale_upwards(axes, curves, y)
    axes.set_xlabel(ACROSS.get(x) or worded(x), color=INK)


def place_across(values: Sequence[float], x: str) -> Callable[[float], float]:
    """Where numbers lie on the axis: logarithms of sizes, and of whatever spans more than a factor of 16 in powers."""
    positive = [value for value in values if value > 0]
    powers = len(positive) > 2 and max(positive) > 16 * min(positive) and all(log2(v).is_integer() for v in positive)
    # A size of 0 has a place on the axis, left of 1.
    return (lambda value: log2(value) if value > 0 else -0.5) if positive and (powers or x == "size_B") else float


def scale_across(axes: Axes, curves: Sequence[Curve], x: str, width_pt: float) -> None:
    """Log2 for sizes and powers, with IEC labels for sizes; marks are at numbers that were computed."""
    values = sorted({value for curve in curves for value in curve.x})
    place, said = place_across(values, x), iec if x == "size_B" else plain_number
    if place is not float:
        axes.set_xscale("symlog", base=2, linthresh=1, linscale=0.5) if values[0] == 0 else axes.set_xscale(
            "log", base=2
        )
        axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_locator(FixedLocator(ticks_across(values, width_pt, place, said)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: said(value)))


def iec(size: float) -> str:
    """Write a size as it is read: ``8 B``, ``64 KiB``."""
    if size % 1024 and size > 1024:
        return f"{size:,.0f} B"
    power = 0
    while size >= 1024 and power < len(UNITS) - 1:
        size, power = size / 1024, power + 1
    return f"{size:g} {UNITS[power]}"


def worded(key: str) -> str:
    """Write a key as an axis's label, without its unit: ``idle_latency_us`` is ``Idle latency``."""
    money = CURRENCY.fullmatch(key)
    plain = key.removesuffix(f"_{money['currency']}") if money else key
    endings = [ending for ending in (*SCALES, "_B", "_s") if plain.endswith(ending)]
    words = plain.removesuffix(max(endings, key=len, default="")).replace("_", " ").replace(" MBps", " MB/s")
    return words[:1].upper() + words[1:]


def is_logarithmic(curves: Sequence[Curve], y: str) -> bool:
    """Whether values are times, or so far below others or their bounds that a linear axis would press them flat."""
    drawn = [value for curve in curves for value in curve.y]
    values = drawn + [value for curve in curves for value in curve.bound if value == value]
    tops = [max(curve.y) for curve in curves if curve.y]
    pressed = max(values) > HIDDEN_BELOW * max(drawn) or max(tops) > HIDDEN_BESIDE * min(tops)
    return (y.endswith("_us") or pressed) and min(values) > 0


def scale_upwards(axes: Axes, curves: Sequence[Curve], y: str) -> None:
    """Logarithmic for times; from zero for rates and shares; in the unit that reads best."""
    values = [value for curve in curves for value in curve.y]
    bounds = [value for curve in curves for value in curve.bound if value == value]
    bounds += [value for curve in curves if curve.is_range for value in curve.high]
    money = CURRENCY.fullmatch(y)
    unit = unit_of(y, values, money and money["currency"], is_log=is_logarithmic(curves, y))
    axes.set_ylabel(unit.label(UPWARDS.get(y) or worded(y)), color=INK)
    if is_logarithmic(curves, y):
        log_upwards(axes, unit)
    else:
        axes.set_ylim(0, max(values + bounds) * 1.06 or 1)
        numbers(axes, unit)


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
    key = str(sampled[0][0].get("statistic_of", "sample"))
    every = [float(sample) for record, _ in sampled for sample in cast(list[Any], record["samples"])]
    unit = unit_of(key, every, is_log=True)
    axes.set_xlabel(unit.label(UPWARDS.get(key, key)), color=INK)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / unit.by:g}"))
    axes.set_ylabel("Share of samples", color=INK)
    bare(axes)
    # Distributions rise to the right: what is below them is free.
    axes.legend(loc="lower right", frameon=False, fontsize=8.5)


def title(records: Sequence[Record], across: dict[str, str]) -> str:
    """Say what is drawn by what, and what all points have in common."""
    wording: dict[str, Callable[[str], str]] = {"method": lambda word: FOUND.get(word, word)}
    wording |= {"via": "over {}".format, "memory": "{} memory".format}
    parts = []
    for key in ("benchmark", "traffic", "fabric", "method", "via", "mpi", "memory"):
        if any(record.get(key) is None for record in records):
            continue
        values = list(dict.fromkeys(str(record[key]) for record in records))
        if 1 <= len(values) <= (3 if key == "benchmark" else 1):
            said = " and ".join(values)
            parts.append(wording[key](said) if key in wording else said)
    upwards = " and ".join(bare_label(key, UPWARDS) for key in across)
    by = ", ".join(dict.fromkeys(bare_label(key, ACROSS) for key in across.values()))
    drawn = f"{upwards} by {by}".lower() if across else "samples"
    drawn = drawn[:1].upper() + drawn[1:]
    return f"{drawn}: {', '.join(parts)}" if parts else drawn


def bare_label(key: str, labels: dict[str, str]) -> str:
    """Return a key's label without the part in brackets."""
    return (labels.get(key) or worded(key)).split(" (")[0]
