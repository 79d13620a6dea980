"""Claims of studies as a picture: how far what the models give is from what was printed, one mark a claim."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from hotlink.drawing import FAINT, INK, LABEL_PT, colour
from hotlink.result import Record

# A prediction within this share of the printed value counts as met.
MET = 0.1
# A row of the picture, in inches; more claims than this stand too close to be read.
ROW = 0.2
MOST = 120


def draw(records: Sequence[Record]) -> Figure:
    """Draw reproduced over published for every claim that has both numbers. Raises ValueError where none has."""
    claims = [(record, ratio) for record in records if "verdict" in record and (ratio := _ratio(record)) is not None]
    if not claims:
        raise ValueError("no claim has a published and a reproduced number")
    claims = claims[:MOST]
    figure = Figure(figsize=(9.0, 1.2 + ROW * len(claims)), layout=ConstrainedLayoutEngine(h_pad=0.12, w_pad=0.12))
    axes = figure.add_subplot()
    axes.axvspan(1 / (1 + MET), 1 + MET, color=FAINT, alpha=0.15, linewidth=0)
    axes.axvline(1.0, color=INK, linewidth=0.8)
    kinds = list(dict.fromkeys(str(record.get("kind")) for record, _ in claims))
    for index, kind in enumerate(kinds):
        places = [(row, ratio) for row, (record, ratio) in enumerate(claims) if record.get("kind") == kind]
        rows, ratios = [row for row, _ in places], [ratio for _, ratio in places]
        axes.plot(ratios, rows, "o", color=colour(index), markersize=4, label=kind)
    axes.set_xscale("log")
    axes.set_xlabel("Reproduced over published (grey: within 10 %)")
    axes.set_yticks(range(len(claims)), [f"{record['study']} {record['id']}" for record, _ in claims])
    axes.tick_params(axis="y", labelsize=LABEL_PT - 1.5)
    axes.set_ylim(len(claims) - 0.5, -0.5)
    axes.legend(loc="best", fontsize=LABEL_PT, frameon=False)
    return figure


def _ratio(record: Record) -> float | None:
    published, reproduced = record.get("published"), record.get("reproduced")
    if not isinstance(published, int | float) or not isinstance(reproduced, int | float):
        return None
    return reproduced / published if published > 0 and reproduced > 0 else None
