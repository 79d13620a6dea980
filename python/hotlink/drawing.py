"""The common parts of all pictures: colours, units, and names that are next to their lines and never on each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log10
from pathlib import Path
from textwrap import fill
from typing import Literal, cast

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cbook import STEP_LOOKUP_MAP
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.path import Path as Outline
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from matplotlib.transforms import Bbox, ScaledTranslation, Transform

# Dark enough for lines on white, and apart for colour-blind readers, too (a test holds them to it). Later series begin
# again with other dashes and marks.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#9000F0", "#601800", "#F060F0", "#787890", "#303048"]
Dash = str | tuple[float, tuple[float, ...]]
DASHES: list[Dash] = ["-", (0, (5, 1.5)), (0, (6, 1.5, 1.5, 1.5))]
# Bounds alone are dotted.
DOTS: Dash = (0, (1, 2))
MARKS = "osD^vP*X"
INK, FAINT, GRID = "#222222", "#8a8a8a", "#e4e4e4"
LABEL_PT = 8.5
# The width of a line that only joins its points.
THIN = 0.8
# Room for a letter of a number across, and between two numbers, in points.
TICK_LETTER_PT, TICK_GAP_PT = 6.0, 12.0
# Of more numbers across than this, round ones are written.
MANY_ACROSS = 16
# Intervals are a band between numbers across that are at most so many times apart: nobody measured what lies between.
NEXT = 2.0
# Bars at one number across: so far from each other at most, and their width, in points.
APART_PT, BAR_PT = 6.0, 4.0
# Longer names take a second line.
NAME_WIDTH = 26
# Room for a line of a name, in inches.
LINE_IN = 1.35 * LABEL_PT / 72
# A line that stops before this share of the axis is named where it stops.
NEAR_END = 0.9
# Units by the ending of a key, each with the factor from the key's own.
UNITS: dict[str, list[tuple[float, str]]] = {
    "_MBps": [(1e-3, "kB/s"), (1, "MB/s"), (1e3, "GB/s"), (1e6, "TB/s")],
    "_us": [(1e-3, "ns"), (1, "µs"), (1e3, "ms"), (1e6, "s")],
    "_per_s": [(1, "per s"), (1e3, "thousand per s"), (1e6, "million per s")],
    "_W": [(1, "W"), (1e3, "kW"), (1e6, "MW")],
    "_kW": [(1, "kW"), (1e3, "MW")],
}


@dataclass(frozen=True)
class Unit:
    """The divisor of numbers, and their unit then."""

    by: float = 1.0
    name: str = ""
    # Where numbers have a unit each: the units, each with its factor.
    each: tuple[tuple[float, str], ...] = ()

    def label(self, what: str) -> str:
        """An axis's label."""
        return f"{what} ({self.name})" if self.name else what

    def said(self, value: float) -> str:
        """A number of the axis."""
        if self.each:
            by, name = next((unit for unit in reversed(self.each) if value >= unit[0] * 0.999), self.each[0])
            return f"{round(value / by, 9):g} {name}"
        scaled = round(value / self.by, 9)
        return f"{scaled:,.0f}" if abs(scaled) >= 10 and scaled == int(scaled) else f"{scaled:g}"


@dataclass(frozen=True)
class End:
    """The last point of a line, with its name."""

    index: int
    name: str
    x: float
    y: float
    colour: str | None = None
    # Points by which the line is moved to the right, and the mark of its points.
    aside: float = 0.0
    mark: str = "o"
    # The width of its bars, in points.
    bar_pt: float = BAR_PT

    def ink(self) -> str:
        """The line's colour."""
        return self.colour or colour(self.index)


def unit_of(key: str, values: Iterable[float], currency: str | None = None, is_log: bool = False) -> Unit:
    """The unit in which the numbers of a key read best on an axis: 50,000 MB/s are 50 GB/s."""
    positive = [value for value in values if value > 0]
    if not positive:
        return Unit()
    units = next((units for ending, units in UNITS.items() if key.endswith(ending)), [])
    if currency:
        units = [(1, currency), (1e3, f"thousand {currency}"), (1e6, f"million {currency}")]
    # Rates from kB/s to GB/s read best each in its own unit.
    if is_log and key.endswith("_MBps") and max(positive) >= 1e3:
        return Unit(each=tuple(units))
    # By the middle of a logarithmic axis, by the end of a linear one.
    typical = (max(positive) * min(positive)) ** 0.5 if is_log else max(positive)
    fitting = [unit for unit in units if typical >= unit[0]] or units[:1]
    return Unit(*fitting[-1]) if fitting else Unit()


def colour(index: int) -> str:
    """The colour of the series with this place."""
    return COLOURS[index % len(COLOURS)]


def dash(index: int) -> Dash:
    """The dashes of the series with this place."""
    return DASHES[index // len(COLOURS) % len(DASHES)]


def as_written(figure: Figure) -> None:
    """Draw every text as it is: a dollar sign begins no formula."""
    for text in figure.findobj(Text):
        text.set_parse_math(False)


def write(figure: Figure, file: Path) -> Path:
    """Write a figure without a date: the same records give the same bytes."""
    as_written(figure)
    with mpl.rc_context({"svg.hashsalt": "hotlink", "svg.fonttype": "none"}):
        dates = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
        figure.savefig(file, dpi=160, metadata=dates.get(file.suffix))
    return file


def bare(axes: Axes) -> None:
    """Only the axes that are read, and a grid behind everything."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)


def log_upwards(axes: Axes, unit: Unit) -> None:
    """A logarithmic axis with plain numbers: powers of ten, and what lies between where the axis is short."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    subs = (1.0,) if high > 300 * low else (1.0, 2.0, 5.0)
    axes.yaxis.set_major_locator(LogLocator(base=10, subs=subs, numticks=20))
    axes.yaxis.set_minor_formatter(NullFormatter())
    numbers(axes, unit)


def numbers(axes: Axes, unit: Unit) -> None:
    """Numbers in the unit, with commas."""
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: unit.said(value)))


def successive(numbers_across: Sequence[float]) -> bool:
    """Whether ascending whole numbers leave none out: only then does a step say nothing that was not computed."""
    return len(numbers_across) > 1 and all(after - before <= 1 for before, after in pairwise(numbers_across))


def plain_number(value: float) -> str:
    """A count as people write it."""
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


def ticks_across(
    values: Sequence[float], width_pt: float, place: Callable[[float], float], said: Callable[[float], str]
) -> list[float]:
    """Choose those of ascending values whose numbers have room under an axis: the ends, and what fits between.

    What was computed is what people look for. Of many numbers, round ones are written.
    """
    if len(values) > MANY_ACROSS and place(values[-1]) == values[-1]:
        step = MaxNLocator(nbins=8, integer=True).tick_values(0, values[-1])[1]
        values = [value for value in values if value % step == 0] or values
    span = place(values[-1]) - place(values[0]) or 1.0

    def apart(one: float, other: float) -> bool:
        letters = (len(said(one)) + len(said(other))) / 2
        return (place(other) - place(one)) / span * width_pt >= letters * TICK_LETTER_PT + TICK_GAP_PT

    kept = [values[-1]]
    for value in reversed(values[1:-1]):
        if apart(value, kept[-1]) and apart(values[0], value):
            kept.append(value)
    return [*([values[0]] if apart(values[0], values[-1]) else []), *reversed(kept)]


def _figure(axes: Axes) -> Figure:
    return cast(Figure, axes.figure)


def moved(axes: Axes, aside: float) -> Transform:
    """Where data lie, so many points to the right."""
    shift = ScaledTranslation(aside / 72, 0, _figure(axes).dpi_scale_trans)
    return axes.transData + shift if aside else axes.transData


def asides(count: int, places: Sequence[float], width_pt: float) -> list[float]:
    """How far lines are moved whose bars would lie over each other, in points; ``places`` are those across."""
    ascending = sorted(set(places))
    gaps = [after - before for before, after in pairwise(ascending)]
    room = width_pt * min(gaps) / (ascending[-1] - ascending[0]) if gaps else width_pt
    step = min(APART_PT, 0.8 * room / max(count, 1))
    return [step * (index - (count - 1) / 2) for index in range(count)]


def bar_pt(sides: Sequence[float]) -> float:
    """The width of bars that do not touch the next line's, which are so far aside."""
    return min([BAR_PT, *(0.8 * (after - before) for before, after in pairwise(sides))])


def bands(x: Sequence[float], is_stepped: bool, is_whole: bool) -> list[range]:
    """The runs of neighbours across, between which an interval is a band; a run of one has a bar.

    Between whole numbers (``is_whole``) there is nothing, unless each of them was computed (``is_stepped``).
    """
    runs = [range(1)]
    for at in range(1, len(x)):
        near = is_stepped or (not is_whole and 0 < x[at] <= NEXT * x[at - 1] * (1 + 1e-9))
        runs = [*runs[:-1], range(runs[-1].start, at + 1)] if near else [*runs, range(at, at + 1)]
    return runs


def intervals(
    axes: Axes, x: Sequence[float], ends: tuple[Sequence[float], Sequence[float]], runs: Sequence[range], end: End
) -> None:
    """Draw intervals: bands where points are neighbours, elsewhere bars."""
    low, high = ends
    for run in runs:
        part = slice(run.start, run.stop)
        if len(run) > 1:
            step: Literal["post"] | None = "post" if successive(x) else None
            axes.fill_between(x[part], low[part], high[part], color=end.ink(), alpha=0.2, linewidth=0, step=step)
        else:
            bar = axes.vlines(x[part], low[part], high[part], color=end.ink(), linewidth=end.bar_pt, alpha=0.35)
            bar.set(transform=moved(axes, end.aside), zorder=1.5)


def name_ends(figure: Figure, charts: Sequence[tuple[Axes, Sequence[End]]]) -> None:
    """Name each line at its last point: beside the plot, or where it stops before.

    No name lies on a line, on another name or on the frame. Where they cannot all stand so, a chart has a legend.
    """
    if not isinstance(figure.canvas, FigureCanvasAgg):
        FigureCanvasAgg(figure)
    as_written(figure)
    written: list[Artist] = []
    full: list[Axes] = []
    while True:
        for artist in written:
            artist.remove()
        written = [_legend(axes, ends) for axes, ends in charts if axes in full]
        open_charts = [(axes, ends) for axes, ends in charts if axes not in full and ends]
        figure.draw_without_rendering()
        columns = [(axes, _beside(axes, ends)) for axes, ends in open_charts]
        written += [name for _, (names, _) in columns for name in names]
        # The names beside the plots make them narrower.
        figure.draw_without_rendering()
        early = [(axes, _early(axes, ends)) for axes, ends in open_charts]
        written += [name for _, names in early for name in names or []]
        found = [axes for axes, (_, fits) in columns if not fits] + [axes for axes, names in early if names is None]
        if not found:
            break
        full += found
    for axes, ends in open_charts:
        for end in ends:
            axes.plot([end.x], [end.y], marker=end.mark, markersize=3.2, color=end.ink(), clip_on=False).pop().set(
                transform=moved(axes, end.aside)
            )


def _legend(axes: Axes, ends: Sequence[End]) -> Artist:
    """The lines with their names, the highest first, at the right of the plot."""
    lines = {str(line.get_label()): line for line in axes.get_lines()}
    ordered = sorted(ends, key=lambda end: -end.y)
    high_pt = axes.get_window_extent().height * 72 / _figure(axes).dpi
    names = [fill(end.name, NAME_WIDTH) for end in ordered]
    size = min(LABEL_PT, high_pt / (1.5 * sum(name.count("\n") + 1 for name in names)))
    legend = axes.legend(
        [lines[end.name] for end in ordered],
        names,
        loc="upper left",
        bbox_to_anchor=(1.02, 1.0),
        borderaxespad=0.0,
        frameon=False,
        fontsize=size,
        handlelength=3.0,
    )
    for text, end in zip(legend.get_texts(), ordered, strict=True):
        text.set(color=end.ink(), parse_math=False)
    return legend


def _is_early(axes: Axes, end: End, ends: Sequence[End]) -> bool:
    """Whether a line stops so long before the others that its name stands there."""
    return _share(axes, end.x, max(other.x for other in ends)) < NEAR_END


def _beside(axes: Axes, ends: Sequence[End]) -> tuple[list[Annotation], bool]:
    """The names beside the plot, pushed apart so that no two touch, and whether there was room for all of them."""
    beside = sorted((end for end in ends if not _is_early(axes, end, ends)), key=lambda end: end.y)
    texts = [fill(end.name, NAME_WIDTH) for end in beside]
    # A name of two lines has the room of two.
    high_in = axes.get_window_extent().height / _figure(axes).dpi
    rooms = [LINE_IN / high_in * (text.count("\n") + 1) for text in texts]
    names = []
    places = spread([height(axes, end.y) for end in beside], rooms)
    for end, text, place in zip(beside, texts, places, strict=True):
        leader = {"arrowstyle": "-", "color": end.ink(), "linewidth": 0.6, "shrinkA": 1, "shrinkB": 2}
        name = axes.annotate(
            text,
            xy=(end.x, end.y),
            xycoords=moved(axes, end.aside),
            xytext=(1.025, place),
            textcoords="axes fraction",
            color=end.ink(),
            fontsize=LABEL_PT,
            va="center",
            linespacing=1.0,
            annotation_clip=False,
            arrowprops={**leader, "relpos": (0, 0.5)},
        )
        names.append(name)
    return names, sum(rooms) <= 1.0


def _early(axes: Axes, ends: Sequence[End]) -> list[Annotation] | None:
    """The names of lines that stop within the plot, each as near to its end as it hides nothing; or not all fit."""
    early = [end for end in ends if _is_early(axes, end, ends)]
    drawn = hidden_paths(axes) if early else []
    taken: list[Bbox] = []
    names: list[Annotation] = []
    frame = axes.get_window_extent()
    for end in early:
        name = axes.annotate(
            fill(end.name, NAME_WIDTH),
            xy=(end.x, end.y),
            xycoords=moved(axes, end.aside),
            xytext=(0, 0),
            textcoords="offset points",
            color=end.ink(),
            fontsize=LABEL_PT,
            linespacing=1.0,
            annotation_clip=False,
            va="center",
        )
        name.set_in_layout(False)
        names.append(name)
        for across, side, up in EARLY_PLACES:
            name.set(position=(across, up), ha=side)
            area = name.get_window_extent().padded(2)
            within = frame.x0 < area.x0 and area.x1 < frame.x1 and frame.y0 < area.y0 and area.y1 < frame.y1
            is_free = not any(area.overlaps(other) for other in taken)
            if within and is_free and not any(path.intersects_bbox(area, filled=False) for path in drawn):
                taken.append(area)
                break
        else:
            for each in names:
                each.remove()
            return None
    return names


# Where a name may stand beside the end of its line, in points, the best first.
Side = Literal["left", "right", "center"]
SIDES: list[tuple[float, Side]] = [(7.0, "left"), (-7.0, "right"), (0.0, "center")]
EARLY_PLACES = [
    (across, side, sign * up)
    for up in (0.0, 9.0, 13.0, 18.0, 24.0, 32.0, 42.0)
    for across, side in SIDES
    for sign in ((1, -1) if up else (1,))
    if up or side != "center"
]


def hidden_paths(axes: Axes) -> list[Outline]:
    """What a name must not lie on, as it is drawn: lines, their points, bars, and what leads to other names."""
    paths = []
    for line in axes.get_lines():
        x, y = np.asarray(line.get_data(orig=False), float)
        steps = STEP_LOOKUP_MAP[line.get_drawstyle()](x, y)
        points = line.get_transform().transform(np.column_stack(steps))
        points = points[np.isfinite(points).all(axis=1)]
        half = max(1.0, line.get_markersize() / 2) if line.get_marker() not in ("", "None", None) else 1.0
        paths += [Outline(points)] if len(points) > 1 else []
        paths += [Outline(point + half * CORNERS) for point in points if half > 1.0 or len(points) == 1]
    for bars in axes.collections:
        if isinstance(bars, LineCollection):
            paths += [Outline(bars.get_transform().transform(part)) for part in bars.get_segments()]
    for text in axes.texts:
        if isinstance(text, Annotation) and text.arrow_patch is not None:
            area = Text.get_window_extent(text)
            end = text.xycoords.transform(text.xy) if isinstance(text.xycoords, Transform) else (area.x0, area.y0)
            paths.append(Outline([end, (area.x0, (area.y0 + area.y1) / 2)]))
    return paths


CORNERS = np.array([(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0)])


def _share(axes: Axes, x: float, last: float) -> float:
    """How far across an axis a point lies, from nothing to the last point."""
    if axes.get_xscale() == "linear":
        return x / last if last else 1.0
    across = axes.transData.transform([(x, 1.0), (last, 1.0), (axes.get_xlim()[0], 1.0)])[:, 0]
    return float((across[0] - across[2]) / max(across[1] - across[2], 1e-9))


def height(axes: Axes, value: float) -> float:
    """Where on the value axis a value lies, 0 to 1."""
    low, high = axes.get_ylim()
    if axes.get_yscale() == "log":
        return (log10(value) - log10(low)) / (log10(high) - log10(low))
    return (value - low) / (high - low)


def spread(wanted: Sequence[float], rooms: Sequence[float]) -> list[float]:
    """Places as near as can be to the wanted ones (ascending), inside 0..1 where they fit.

    Each has a room of its own around it, and no two rooms overlap.
    """
    groups: list[tuple[float, list[float]]] = []
    for place, room in zip(wanted, rooms, strict=True):
        groups.append((place, [room]))
        while len(groups) > 1 and _touches(groups[-2], groups[-1]):
            (above, upper), (below, lower) = groups.pop(), groups.pop()
            n, m = len(upper), len(lower)
            groups.append(((above * n + below * m) / (n + m), lower + upper))
    places = []
    for centre, members in groups:
        at = centre - sum(members) / 2
        for room in members:
            places.append(at + room / 2)
            at += room
    over = max(0.0, max(places, default=0.0) - 1.0)
    return _push_up([place - over for place in places], rooms)


def _touches(lower: tuple[float, list[float]], upper: tuple[float, list[float]]) -> bool:
    """Whether two groups of names, each around a centre, overlap."""
    return upper[0] - lower[0] < (sum(lower[1]) + sum(upper[1])) / 2


def _push_up(places: Sequence[float], rooms: Sequence[float]) -> list[float]:
    """Lift what reaches below 0, and whatever that pushes."""
    lifted: list[float] = []
    apart = [(below + above) / 2 for below, above in pairwise(rooms)]
    for index, place in enumerate(places):
        lifted.append(max(place, lifted[-1] + apart[index - 1] if lifted else rooms[0] / 2))
    assert all(b - a >= step * 0.999 for (a, b), step in zip(pairwise(lifted), apart, strict=True))
    return lifted


def name_points(
    figure: Figure,
    axes: Axes,
    points: Sequence[tuple[float, float, str, str]],
    others: Sequence[tuple[float, float, float]] = (),
) -> None:
    """Write names (x, y, name, colour) beside their points where they hide no point, no other name and no interval.

    ``others`` are intervals across: from, to, and the height at which they lie.

    A name that finds no room is left out: the records hold it.
    """
    if not isinstance(figure.canvas, FigureCanvasAgg):
        FigureCanvasAgg(figure)
    as_written(figure)
    figure.draw_without_rendering()
    marks = axes.transData.transform([(x, y) for x, y, _, _ in points])
    taken = [Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in marks]
    for left, right, y in others:
        ends = axes.transData.transform([(left, y), (right, y)])
        taken.append(Bbox.from_extents(ends[0][0], ends[0][1] - 2, ends[1][0], ends[0][1] + 2))
    frame = axes.get_window_extent()
    for x, y, name, ink in points:
        for place, across, up in PLACES:
            text = axes.annotate(
                name, (x, y), place, textcoords="offset points", fontsize=LABEL_PT, color=ink, ha=across, va=up
            )
            text.set_path_effects([withStroke(linewidth=2.5, foreground="white")])
            text.set_in_layout(False)
            area = text.get_window_extent().padded(1)
            within = frame.x0 <= area.x0 and area.x1 <= frame.x1 and area.y0 >= frame.y0 and area.y1 <= frame.y1 + 8
            if within and not any(area.overlaps(other) for other in taken):
                taken.append(area)
                break
            text.remove()


# Where a name may stand beside its point, the best first.
PLACES = [
    ((7, 0), "left", "center"),
    ((-7, 0), "right", "center"),
    ((0, 7), "center", "bottom"),
    ((0, -7), "center", "top"),
    ((6, 8), "left", "bottom"),
    ((-6, 8), "right", "bottom"),
    ((6, -8), "left", "top"),
    ((-6, -8), "right", "top"),
]
