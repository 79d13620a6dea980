"""Plots name every line once, apart from each other, and leave gaps where there is no value."""

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text

from hotlink import front, plot
from hotlink.result import Record, Result


def records(fabrics: int, nodes: int = 16, scale: float = 1.0) -> list[Record]:
    return [
        {
            "kind": "fabric",
            "fabric": f"fabric-{f}",
            "nodes": n,
            "bandwidth_per_node_MBps": None if (f, n) == (1, 5) else scale**f * 100.0 / (n + f),
            "cost_USD": 1000.0 * n * (f + 1),
        }
        for f in range(fabrics)
        for n in range(2, nodes)
    ]


def names(figure: Figure) -> list[Annotation]:
    return [text for text in figure.axes[0].texts if isinstance(text, Annotation)]


@pytest.mark.parametrize(("fabrics", "scale"), [(1, 1.0), (5, 1.0), (12, 1.0), (12, 2.5)])
def test_names_at_the_ends_do_not_touch(fabrics: int, scale: float) -> None:
    figure = plot.draw(records(fabrics, scale=scale))
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    boxes = sorted((Text.get_window_extent(name) for name in names(figure)), key=lambda box: box.y0)
    assert len(boxes) == fabrics
    assert all(lower.y1 <= upper.y0 + 1.0 for lower, upper in pairwise(boxes))
    assert all(box.x1 <= figure.bbox.x1 for box in boxes)


def test_a_missing_value_is_a_gap() -> None:
    line = plot.draw(records(2)).axes[0].lines[1]
    assert np.count_nonzero(np.isnan(np.asarray(line.get_ydata(), dtype=float))) == 1


def test_a_wide_range_takes_a_logarithmic_axis_and_a_narrow_one_starts_at_zero() -> None:
    assert plot.draw(records(6, scale=4.0)).axes[0].get_yscale() == "log"
    narrow = plot.draw(records(3)).axes[0]
    assert (narrow.get_yscale(), narrow.get_ylim()[0]) == ("linear", 0.0)


def test_axes_carry_units() -> None:
    assert plot.draw(records(2), "cost").axes[0].get_ylabel() == "Total cost (USD)"
    assert plot.draw(records(2)).axes[0].get_ylabel() == "Bandwidth per node (MB/s)"


def test_the_same_records_give_the_same_files(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = plot.save(records(3), tmp_path / "a"), plot.save(records(3), tmp_path / "b")
    assert [file.name for file in first] == ["bandwidth.png", "bandwidth.svg", "cost.png", "cost.svg"]
    assert all(a.read_bytes() == b.read_bytes() for a, b in zip(first, second, strict=True))


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(ValueError, match="bandwidth, cost, cost-per-MBps"):
        plot.draw(records(1), "latency")
    with pytest.raises(ValueError, match="no record"):
        plot.draw(records(1), "cost-per-MBps")


def test_places_keep_their_distance_and_their_order() -> None:
    drawn = random.Random(1)
    for _ in range(200):
        wanted = sorted(drawn.random() for _ in range(drawn.randint(1, 15)))
        places = plot.spread(wanted, 0.06)
        assert all(b - a >= 0.06 - 1e-9 for a, b in pairwise(places))
        assert min(places) >= -1e-9
        assert max(places) <= 1 + 1e-9


def variant(name: str, hosts: int, cost: float | None, is_front: bool) -> Record:
    return {
        "benchmark": "design",
        "kind": "variant",
        "fabric": f"roce-{hosts}-{name}",
        "technology": "roce",
        "hosts": hosts,
        "all_to_all_MBps": 1000.0,
        "currency": "USD",
        "cost_USD": cost,
        "front": is_front,
    }


def test_designs_have_a_panel_for_each_size_and_name_the_front(tmp_path: Path) -> None:
    made = [variant("a", 8, 5.0, True), variant("b", 8, 9.0, False), variant("a", 16, 8.0, True)]
    figure = front.draw(made)
    assert [axes.get_title(loc="left").split(":")[0] for axes in figure.axes] == ["8 hosts", "16 hosts"]
    assert [text.get_text() for text in figure.axes[0].texts if isinstance(text, Annotation)] == ["a"]
    assert "USD" in figure.axes[0].get_xlabel()
    assert {file.name for file in front.save(made, tmp_path)} == {"front.png", "front.svg"}
    with pytest.raises(ValueError, match="no record of a design has a cost"):
        front.draw([variant("a", 8, None, True)])


def test_claims_are_drawn_beside_what_was_printed() -> None:
    """A study's rows are one mark each; rows without both numbers are left out."""
    row: dict[str, Any] = {"study": "X", "kind": "prediction", "verdict": "yes"}
    claims = Result([row | {"id": "G1", "published": 2.0, "reproduced": 2.1}, row | {"id": "G2", "published": "text"}])
    figure = claims.plot()
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["X G1"]
    assert "published" in claims._repr_html_()
    assert "study=X" in repr(claims)
    with pytest.raises(ValueError, match="no claim"):
        Result([row | {"id": "G2", "published": None}]).plot()
