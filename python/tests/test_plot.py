"""Plots name every line once, apart from each other, and leave gaps where there is no value."""

import random
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text

from hotlink import drawing, front, plot
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
    assert plot.draw(records(2), "cost").axes[0].get_ylabel() == "Total cost (thousand USD)"
    assert plot.draw(records(2)).axes[0].get_ylabel() == "Bandwidth per node (MB/s)"
    fast = [record | {"bandwidth_per_node_MBps": 50_000.0} for record in records(1)]
    figure = plot.draw(fast)
    axes = figure.axes[0]
    figure.draw_without_rendering()
    assert axes.get_ylabel() == "Bandwidth per node (GB/s)"
    assert "50" in [label.get_text() for label in axes.get_yticklabels()]


def test_a_line_is_in_steps_only_where_every_number_of_nodes_was_computed() -> None:
    assert {line.get_drawstyle() for line in plot.draw(records(2)).axes[0].lines[:2]} == {"steps-post"}
    some = [record for record in records(2) if record["nodes"] in (2, 4, 8)]
    lines = plot.draw(some).axes[0].lines[:2]
    assert {(line.get_drawstyle(), line.get_marker()) for line in lines} == {("default", "o")}
    assert np.asarray(lines[0].get_xdata()).tolist() == [2, 4, 8]


def test_names_of_lines_that_stop_early_do_not_touch() -> None:
    ends = {0: 16, 1: 13, 2: 13, 3: 8, 4: 8}
    stopped: list[Record] = [
        record | {"bandwidth_per_node_MBps": 100.0 + fabric}
        for record in records(5)
        for fabric in [int(str(record["fabric"])[-1])]
        if int(str(record["nodes"])) < ends[fabric]
    ]
    figure = plot.draw(stopped)
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    boxes = [Text.get_window_extent(name) for name in names(figure)]
    assert len(boxes) == len(ends)
    assert not any(a.overlaps(b) for index, a in enumerate(boxes) for b in boxes[:index])


def lab(rgb: np.ndarray) -> np.ndarray:
    """Linear RGB in CIELAB, where distances are those that people see."""
    xyz = rgb @ np.array([[0.4124, 0.2126, 0.0193], [0.3576, 0.7152, 0.1192], [0.1805, 0.0722, 0.9505]])
    ratio = np.clip(xyz / np.array([0.9505, 1.0, 1.089]), 0, None)
    root = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    x, y, z = root.T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


# What people without red, without green and without blue cones see of linear RGB (Machado, Oliveira and Fernandes 2009,
# severity 1).
SEEN = [
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
]


ROOT = Path(__file__).parents[2]
PAGES = ["report", "report, dark", "explorer", "explorer, dark"]


def palettes() -> dict[str, tuple[list[str], str]]:
    """The colours of series wherever charts are drawn, with the ground that they stand on."""
    colour = r"#[0-9a-f]{6}"
    page = re.findall(rf"--c\d: ({colour})", (ROOT / "crates/report/src/page.css").read_text())
    explorer = re.findall(rf"--line-\d: ({colour})", (ROOT / "web/src/style.css").read_text())
    studies = re.findall(rf"text\.c\d {{ fill: ({colour})", (ROOT / "crates/chart/src/file.css").read_text())
    dark = "#14171b"
    return {
        "plot": (drawing.COLOURS, "#ffffff"),
        "report": (page[:6], "#ffffff"),
        "report, dark": (page[6:], dark),
        "explorer": (explorer[:6], "#ffffff"),
        "explorer, dark": (explorer[6:], dark),
        "studies": (studies, "#ffffff"),
    }


@pytest.mark.parametrize(("where", "least"), [("plot", 2.5), ("studies", 3.0), *((name, 4.5) for name in PAGES)])
def test_colours_stand_out_and_are_apart_for_colour_blind_readers(where: str, least: float) -> None:
    found, ground = palettes()[where]
    srgb = np.array([[int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)] for colour in [*found, ground]])
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    luminance = linear @ np.array([0.2126, 0.7152, 0.0722]) + 0.05
    contrast = np.maximum(luminance / luminance[-1], luminance[-1] / luminance)[:-1]
    # Names in the pages are written in their lines' colours.
    assert contrast.min() >= least, contrast
    assert len(found) >= 6
    for sight in SEEN:
        colours = lab(np.clip(linear[:-1] @ np.array(sight).T, 0, 1))
        apart = np.linalg.norm(colours[:, None] - colours[None], axis=2) + 100 * np.eye(len(colours))
        assert apart.min() >= 15, (sight, np.unravel_index(apart.argmin(), apart.shape), apart.min())


def test_names_of_points_hide_neither_points_nor_each_other() -> None:
    drawn = random.Random(2)
    for count in (3, 12, 40):
        figure = Figure(figsize=(6, 4))
        axes = figure.add_subplot()
        points = [(drawn.random(), drawn.random(), f"variant {index}", "#000000") for index in range(count)]
        axes.plot([x for x, *_ in points], [y for _, y, *_ in points], "o")
        drawing.name_points(figure, axes, points)
        boxes = [text.get_window_extent() for text in axes.texts]
        marks = axes.transData.transform([(x, y) for x, y, *_ in points])
        assert len(boxes) >= min(count, 3)
        assert not any(a.overlaps(b) for index, a in enumerate(boxes) for b in boxes[:index])
        assert not any(box.contains(x, y) for box in boxes for x, y in marks)


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
        places = drawing.spread(wanted, [0.06] * len(wanted))
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


def test_money_of_different_years_has_plots_of_its_own(tmp_path: Path) -> None:
    plain: Record = {"bandwidth_per_node_MBps": 1.0, "prices": "list"}
    of = [
        plain | {"fabric": f"of-{year}", "nodes": nodes, "cost_USD": 10.0 * nodes, "prices_year": year}
        for year in ("2002", "2006")
        for nodes in (4, 8)
    ]
    names = [file.name for file in plot.save(of, tmp_path) if file.suffix == ".png"]
    assert names == ["bandwidth.png", "cost-2002.png", "cost-2006.png"]
    assert plot.draw(of, "cost").axes[0].get_ylabel() == "Total cost, years as they are (USD)"
