"""The common parts of all pictures: colours, units, and names that are next to their lines and never on each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log10
from pathlib import Path
from textwrap import fill

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation, Text
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from matplotlib.transforms import Bbox

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
# Few numbers across are written as they are, if each has this share of the axis.
FEW_TICKS, TICK_ROOM = 8, 0.07
# Longer names take a second line.
NAME_WIDTH = 26
# Room for a line of a name, in inches.
LINE_IN = 1.35 * LABEL_PT / 72
# A line that stops before this share of the axis is named where it stops.
NEAR_END = 0.9
# Beyond this share a name has no room on the right of that place.
NO_ROOM = 0.6
# Units by the ending of a key, each with the factor from the key's own.
UNITS: dict[str, list[tuple[float, str]]] = {
    "_MBps": [(1e-3, "kB/s"), (1, "MB/s"), (1e3, "GB/s"), (1e6, "TB/s")],
    "_us": [(1e-3, "ns"), (1, "µs"), (1e3, "ms"), (1e6, "s")],
    "_per_s": [(1, "per s"), (1e3, "thousand per s"), (1e6, "million per s")],
    "_W": [(1, "W"), (1e3, "kW"), (1e6, "MW")],
}


@dataclass(frozen=True)
class Unit:
    """The divisor of numbers, and their unit then."""

    by: float = 1.0
    name: str = ""

    def label(self, what: str) -> str:
        """An axis's label."""
        return f"{what} ({self.name})" if self.name else what


@dataclass(frozen=True)
class End:
    """The last point of a line, with its name."""

    index: int
    name: str
    x: float
    y: float
    colour: str | None = None

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

    def said(value: float, _: int | None) -> str:
        scaled = round(value / unit.by, 9)
        return f"{scaled:,.0f}" if abs(scaled) >= 10 and scaled == int(scaled) else f"{scaled:g}"

    axes.yaxis.set_major_formatter(FuncFormatter(said))


def successive(numbers_across: Sequence[float]) -> bool:
    """Whether ascending whole numbers leave none out: only then does a step say nothing that was not computed."""
    return len(numbers_across) > 1 and all(after - before <= 1 for before, after in pairwise(numbers_across))


def has_room(values: Sequence[float]) -> bool:
    """Whether numbers across, ascending, are few enough that each is written as it is."""
    room = TICK_ROOM * (values[-1] - values[0])
    return 1 < len(values) <= FEW_TICKS and all(after - before >= room for before, after in pairwise(values))


def name_ends(axes: Axes, ends: Sequence[End], height_in: float) -> None:
    """Name each line at its last point: next to the plot, pushed apart so that no two names touch, or where it stops.

    ``height_in`` is the height of the plot in inches.
    """
    if not ends:
        return
    low, last = axes.get_xlim()[0], max(end.x for end in ends)
    beside = sorted((end for end in ends if _share(axes, end.x, last) >= NEAR_END), key=lambda end: end.y)
    for end, text, place in _column(axes, beside, height_in):
        leader = {"arrowstyle": "-", "color": end.ink(), "linewidth": 0.6, "shrinkA": 1, "shrinkB": 2}
        _name(axes, end, text, (1.025, place), "axes fraction", {**leader, "relpos": (0, 0.5)})
    early = sorted((end for end in ends if end not in beside), key=lambda end: end.y)
    for end, text, place in _column(axes, early, height_in):
        up = (place - height(axes, end.y)) * height_in * 72 + (5.0 if end.x > low else 8.0)
        name = _name(axes, end, text, (5.0, up), "offset points", None)
        if _share(axes, end.x, last) > NO_ROOM:
            name.set(ha="right", y=up + 4.0)


def _column(axes: Axes, ends: Sequence[End], height_in: float) -> list[tuple[End, str, float]]:
    """The names of ends (ascending) in lines, each with its height on the axis, where no two names touch."""
    texts = [fill(end.name, NAME_WIDTH) for end in ends]
    # A name of two lines has the room of two.
    rooms = [LINE_IN / height_in * (text.count("\n") + 1) for text in texts]
    return list(zip(ends, texts, spread([height(axes, end.y) for end in ends], rooms), strict=True))


def _share(axes: Axes, x: float, last: float) -> float:
    """How far across an axis a point lies, from nothing to the last point."""
    if axes.get_xscale() == "linear":
        return x / last if last else 1.0
    across = axes.transData.transform([(x, 1.0), (last, 1.0), (axes.get_xlim()[0], 1.0)])[:, 0]
    return float((across[0] - across[2]) / max(across[1] - across[2], 1e-9))


def _name(
    axes: Axes, end: End, text: str, place: tuple[float, float], unit: str, leader: dict[str, object] | None
) -> Annotation:
    """Write a name in its colour, and mark the point that it belongs to."""
    name = axes.annotate(
        text,
        xy=(end.x, end.y),
        xytext=place,
        textcoords=unit,
        color=end.ink(),
        fontsize=LABEL_PT,
        va="center",
        linespacing=1.0,
        annotation_clip=False,
        arrowprops=leader,
    )
    if leader is None:
        name.set_path_effects([withStroke(linewidth=2.5, foreground="white")])
    axes.plot([end.x], [end.y], marker="o", markersize=3.2, color=end.ink(), clip_on=False)
    return name


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
    """Lift what lies below 0, and whatever that pushes."""
    lifted: list[float] = []
    apart = [(below + above) / 2 for below, above in pairwise(rooms)]
    for index, place in enumerate(places):
        lifted.append(max(place, lifted[-1] + apart[index - 1] if lifted else 0.0))
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
