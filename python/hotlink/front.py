"""Designs as a picture: cost against what each host gets, one panel for each number of hosts, the front named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter

from hotlink.drawing import FAINT, INK, LABEL_PT, MARKS, Unit, bare, colour, name_points, unit_of, write
from hotlink.plot import prices
from hotlink.result import Record


def save(records: Sequence[Record], folder: Path) -> list[Path]:
    """Write the picture into ``folder``, as PNG and SVG."""
    figure = draw(records)
    return [write(figure, folder / f"front.{suffix}") for suffix in ("png", "svg")]


def draw(records: Sequence[Record]) -> Figure:
    """Draw the variants of a design. Raises ValueError where none has a price."""
    variants = [record for record in records if record.get("kind") == "variant" and _cost(record) is not None]
    if not variants:
        raise ValueError("no record of a design has a cost")
    sizes = list(dict.fromkeys(record["hosts"] for record in variants))
    technologies = list(dict.fromkeys(record["technology"] for record in variants))
    figure = Figure(figsize=(9.0, 4.4 * len(sizes)), layout=ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.12))
    for row, hosts in enumerate(sizes):
        axes = figure.add_subplot(len(sizes), 1, row + 1)
        here = [record for record in variants if record["hosts"] == hosts]
        for index, technology in enumerate(technologies):
            _points(axes, [record for record in here if record["technology"] == technology], index, str(technology))
        _style(axes, f"{hosts} hosts", here, prices(variants))
        front = [record for record in here if record.get("front")]
        whiskers = [
            (_end(record, "low"), _end(record, "high"), _number(record, "all_to_all_MBps") or 0.0) for record in here
        ]
        name_points(figure, axes, [_named(record, technologies) for record in front], whiskers)
    return figure


def _named(record: Record, technologies: Sequence[object]) -> tuple[float, float, str, str]:
    name = str(record["fabric"]).split("-", 2)[-1]
    cost, rate = _cost(record) or 0.0, _number(record, "all_to_all_MBps") or 0.0
    return cost, rate, name, colour(technologies.index(record["technology"]))


def _number(record: Record, key: str) -> float | None:
    value = record.get(key)
    return float(value) if isinstance(value, int | float) else None


def _cost(record: Record) -> float | None:
    return _number(record, f"cost_{record.get('currency')}")


def _points(axes: Axes, records: list[Record], index: int, technology: str) -> None:
    for is_front in (False, True):
        chosen = [record for record in records if bool(record.get("front")) == is_front]
        if not chosen:
            continue
        costs = [_cost(record) or 0.0 for record in chosen]
        rates = [_number(record, "all_to_all_MBps") or 0.0 for record in chosen]
        ends = [[_end(record, "low") for record in chosen], [_end(record, "high") for record in chosen]]
        below = [[cost - low for cost, low in zip(costs, ends[0], strict=True)]]
        above = [[high - cost for cost, high in zip(costs, ends[1], strict=True)]]
        axes.errorbar(
            costs,
            rates,
            xerr=below + above,
            fmt=MARKS[index % len(MARKS)],
            color=colour(index),
            markerfacecolor=colour(index) if is_front else "white",
            markersize=6,
            elinewidth=0.6,
            alpha=1.0 if is_front else 0.45,
            label=technology if is_front or not any(record.get("front") for record in records) else None,
        )


def _end(record: Record, end: str) -> float:
    cost = _number(record, f"cost_{record['currency']}_{end}")
    return cost if cost is not None else _cost(record) or 0.0


def _style(axes: Axes, title: str, records: list[Record], below: str) -> None:
    currency = str(records[0]["currency"])
    costs = unit_of("cost", [_end(record, "high") for record in records], currency)
    rates = unit_of("all_to_all_MBps", [_number(record, "all_to_all_MBps") or 0.0 for record in records])
    axes.set_title(f"{title}: filled marks are beaten by nothing", loc="left", fontsize=12, color=INK, pad=20)
    axes.text(0, 1.02, below, transform=axes.transAxes, fontsize=9, color=FAINT, va="bottom")
    axes.set_xlabel(costs.label("Total cost, with its range"), color=INK)
    axes.set_ylabel(rates.label("All to all, of each node"), color=INK)
    bare(axes)
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_formatter(FuncFormatter(_said(costs)))
    axes.yaxis.set_major_formatter(FuncFormatter(_said(rates)))
    axes.legend(frameon=False, fontsize=LABEL_PT, loc="lower right")


def _said(unit: Unit) -> Callable[[float, int | None], str]:
    return lambda value, _: f"{value / unit.by:g}"
