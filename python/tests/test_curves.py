"""Curves follow the field's conventions, and say what cannot be drawn."""

import json
import os
import random
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.text import Text

import hotlink
from hotlink import curves, drawing
from hotlink.result import Record


def pingpong(via: str = "shm", sizes: tuple[int, ...] = (0, 8, 65536, 1 << 20)) -> list[Record]:
    records: list[Record] = []
    for size in sizes:
        us = 1.0 + size / 5000
        record: Record = {"fabric": "here", "benchmark": "pingpong", "method": "measured", "via": via, "size_B": size}
        record |= {
            "latency_us": us,
            "bandwidth_MBps": size / us,
            "bound_latency_us": us / 2,
            "statistic_of": "latency_us",
        }
        records.append(record | {"ci95_low": us * 0.9, "ci95_high": us * 1.1})
    return records


def labels(axes: Any) -> list[str]:  # noqa: ANN401
    return [text.get_text() for text in axes.get_xticklabels()]


def test_sizes_have_a_log2_axis_with_iec_labels_and_latencies_a_logarithmic_one() -> None:
    figure = curves.draw(pingpong())
    FigureCanvasAgg(figure).draw()
    latency, bandwidth = figure.axes
    assert latency.get_xscale() == "symlog", "a log2 axis on which 0 B has a place"
    assert (latency.get_yscale(), bandwidth.get_yscale()) == ("log", "linear")
    assert "0 B" in labels(latency)
    assert "64 KiB" in labels(latency)
    assert curves.draw(pingpong(sizes=(8, 64, 1024))).axes[0].get_xscale() == "log"
    assert bandwidth.get_ylim()[0] == 0


def test_bounds_are_dotted_and_intervals_shown_also_for_what_is_computed_from_the_time() -> None:
    records = pingpong()
    latency, bandwidth = curves.draw(records).axes
    measured, bound = latency.lines[:2]
    assert measured.get_linestyle() == "-"
    assert is_dotted(bound)
    assert not is_dotted(measured)
    assert np.allclose(np.asarray(bound.get_ydata(), float) * 2, np.asarray(measured.get_ydata(), float))
    assert len(latency.collections) == len(bandwidth.collections) == 4, "bars: the sizes lie far apart"
    low, high = curves.interval(records[2], "bandwidth_MBps")
    assert low is not None
    assert high is not None
    assert low < 65536 / (1.0 + 65536 / 5000) < high


def test_no_line_looks_like_a_bound_and_lines_on_their_bounds_are_named() -> None:
    many = [record | {"fabric": f"f{n}", "latency_us": n + 2.0} for n in range(17) for record in pingpong()]
    axes = curves.draw(many, None, ["latency_us"], None, curves.Look(panels="one")).axes[0]
    assert {line.get_label() for line in axes.lines if is_dotted(line)} == {"bound"}
    assert {line.get_color() for line in axes.lines if line.get_label() == "bound"} == {drawing.FAINT}
    bounded = [record | {"bound_latency_us": record["latency_us"]} for record in pingpong("tcp")]
    assert "Every line lies on its bound." in below(curves.draw(bounded + [r | {"via": "mpi"} for r in bounded]))
    assert "On their bounds: tcp." in below(curves.draw(bounded + pingpong("shm")))


def is_dotted(line: Any) -> bool:  # noqa: ANN401
    dashes = line._dash_pattern[1]
    return bool(dashes) and dashes[0] < 2 == len(dashes)


def below(figure: Any) -> str:  # noqa: ANN401
    return str(figure.get_supxlabel()).replace("\n", " ")


def test_a_cost_has_its_range_its_currency_and_the_numbers_of_nodes() -> None:
    plain: Record = {"fabric": "a", "method": "load", "idle_latency_us": 1.5}
    costs = {"cost_USD": 4e3, "cost_USD_low": 3e3, "cost_USD_high": 6e3}
    offers = [
        plain | {"nodes": nodes} | {key: each * nodes for key, each in costs.items()} for nodes in (64, 128, 256, 512)
    ]
    figure = curves.draw(offers, None, ["cost_USD", "idle_latency_us"])
    FigureCanvasAgg(figure).draw()
    cost, latency = figure.axes
    assert cost.get_ylabel() == "Cost (million USD)"
    assert latency.get_ylabel() == "Idle latency (µs)"
    assert len(cost.collections) == 4
    assert cost.get_ylim()[1] >= 6e3 * 512
    assert labels(cost) == ["64", "128", "256", "512"]
    assert figure.get_suptitle() == "Cost and idle latency by nodes: a, computed"
    assert "prices and inputs allow" in below(figure)


def test_lines_are_named_by_what_differs() -> None:
    lines = curves.curves_of(pingpong("shm") + pingpong("tcp"), "size_B", "latency_us")
    assert [line.name for line in lines] == ["shm", "tcp"]
    assert [line.x for line in lines] == [[0, 8, 65536, 1 << 20]] * 2


def names(axes: Any) -> list[str]:  # noqa: ANN401
    return [text.get_text() for text in axes.texts]


def test_names_stand_at_the_ends_and_name_neither_quantity() -> None:
    latency, bandwidth = curves.draw(pingpong()).axes
    assert names(latency) == names(bandwidth) == [], "one line needs no name"
    assert not latency.figure.legends
    slow = [record | {"latency_us": 3.0 * float(str(record["latency_us"]))} for record in pingpong("tcp")]
    (latency,) = curves.draw(pingpong() + slow, None, ["latency_us"]).axes
    assert sorted(names(latency)) == ["shm", "tcp"]


def random_lines(seed: int) -> list[Record]:
    """Lines of any shape, of which some stop early and some begin late."""
    draw = random.Random(seed)
    sizes = [2**power for power in range(draw.randrange(4, 21))]
    records: list[Record] = []
    for line in range(draw.randrange(2, 9)):
        first, last = sorted(draw.sample(range(len(sizes)), 2))
        name = "-".join(draw.choices(["leaf", "spine", "dragonfly", "of", "two"], k=draw.randrange(1, 6))) + str(line)
        for size in sizes[first : last + 1]:
            value = draw.uniform(1.0, 100.0)
            ends: Record = {"latency_us_low": 0.8 * value, "latency_us_high": 1.3 * value} if seed % 2 else {}
            records.append({"fabric": name, "size_B": size, "latency_us": value, "bound_latency_us": 0.5, **ends})
    return records


@pytest.mark.parametrize("seed", range(30))
def test_no_name_lies_on_a_line_on_a_name_or_on_the_frame(seed: int) -> None:
    figure = curves.draw(random_lines(seed), None, ["latency_us"], look=curves.Look(panels="one"))
    FigureCanvasAgg(figure).draw()
    (axes,) = figure.axes
    legend = axes.get_legend()
    texts = legend.get_texts() if legend else axes.texts
    boxes = [Text.get_window_extent(text) for text in texts]
    lines = drawing.hidden_paths(axes)
    frame = axes.get_window_extent()
    assert texts, "lines have names"
    for index, box in enumerate(boxes):
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1, texts[index]
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1, texts[index]
        assert box.x0 > frame.x1 or (box.x1 < frame.x1 and frame.y0 < box.y0 and box.y1 < frame.y1), texts[index]
        assert not any(box.padded(-0.5).overlaps(other.padded(-0.5)) for other in boxes[:index]), texts[index]
        assert not any(line.intersects_bbox(box.padded(-0.5), filled=False) for line in lines), texts[index]


def test_a_line_that_stops_within_the_plot_is_named_beside_no_other_line() -> None:
    # The name of the short line stood on the long one, which goes on beside its end.
    both: list[Record] = [
        {"fabric": fabric, "method": "load", "nodes": 4096 * step, "bandwidth_per_node_MBps": rate + 50 * step}
        for fabric, rate, most in (("a-short-line-of-flows", 4.7e4, 3), ("long", 4.71e4, 9))
        for step in range(1, most)
    ]
    (axes,) = curves.draw(both, look=curves.Look(panels="one")).axes
    FigureCanvasAgg(axes.figure).draw()
    lines = drawing.hidden_paths(axes)
    for text in axes.texts:
        assert not any(line.intersects_bbox(Text.get_window_extent(text), filled=False) for line in lines)


def test_a_note_of_bars_stands_where_bars_are_seen_and_says_where_none_was_computed() -> None:
    def offers(spread: float, known: int) -> list[Record]:
        barred: Record = {"power_kW_low": 5.0, "power_kW_high": 5.0 + spread}
        bare: Record = {}
        ranges = [barred] * known + [bare] * (3 - known)
        plain: Record = {"fabric": "a", "method": "load", "power_kW": 5.0}
        return [{**plain, "nodes": nodes, **of} for nodes, of in zip((64, 128, 256), ranges, strict=True)]

    def drawn(spread: float, known: int) -> str:
        (axes,) = curves.draw(offers(spread, known), None, ["power_kW"]).axes
        assert axes.get_ylabel() == "Power (kW)"
        return below(axes.figure)

    assert drawn(0.0, 3) == drawn(0.01, 3) == "", "no bar is longer than a mark"
    assert drawn(2.0, 3) == "Bars: from the least to the most that prices and inputs allow."
    assert drawn(2.0, 1).endswith("A point without one: its interval was not computed (--sensitivity computes all).")


def test_bands_join_only_neighbours_and_bars_stand_apart() -> None:
    far = pingpong(sizes=(8, 1 << 20))
    (axes,) = curves.draw(far, None, ["latency_us"]).axes
    assert [type(part) for part in axes.collections] == [LineCollection, LineCollection], "nobody measured between"
    assert labels(axes) == ["8 B", "1 MiB"]
    assert "Bars: 95 % intervals of the medians." in below(axes.figure)
    (axes,) = curves.draw(pingpong(sizes=(8, 16, 32, 4096)), None, ["latency_us"]).axes
    assert [type(part) is LineCollection for part in axes.collections] == [False, True]
    assert "Shaded and bars: 95 % intervals of the medians." in below(axes.figure)
    offers: list[Record] = [
        {
            "fabric": fabric,
            "method": "load",
            "nodes": nodes,
            "cost_USD": cost,
            "cost_USD_low": low,
            "cost_USD_high": 9e3,
        }
        for fabric, cost, low in (("a", 1e3, 500.0), ("b", 2e3, 600.0), ("c", 3e3, 700.0))
        for nodes in (64, 128, 192)
    ]
    (axes,) = curves.draw(offers, None, ["cost_USD"]).axes
    bars = [part for part in axes.collections if isinstance(part, LineCollection)]
    across = [[float(bar.get_transform().transform(part)[0][0]) for bar in bars for part in bar.get_segments()]]
    assert len(bars) == len(set(np.round(across[0]))) == 9, "no two lie over each other"
    marks = [line.get_marker() for line in axes.lines if np.size(line.get_xdata()) == 3]
    assert len(set(marks)) == 3


def test_numbers_across_are_computed_ones_and_rates_have_units() -> None:
    offers: list[Record] = [
        {"fabric": "a", "method": "load", "nodes": nodes, "bandwidth_per_node_MBps": 1e4}
        for nodes in range(64, 520, 64)
    ]
    axes = curves.draw(offers).axes[0]
    assert labels(axes) == ["64", "128", "192", "256", "320", "384", "448", "512"]
    slow = [
        record | {"via": "slow", "bandwidth_MBps": 0.002 * float(str(record["bandwidth_MBps"]))}
        for record in pingpong()
    ]
    axes = curves.draw(pingpong() + slow, None, ["bandwidth_MBps"], look=curves.Look(panels="one")).axes[0]
    FigureCanvasAgg(axes.figure).draw()
    if axes.get_yscale() == "log":
        assert "1 GB/s" in [label.get_text() for label in axes.get_yticklabels()]
    unit = drawing.unit_of("bandwidth_MBps", [1.0, 5e4], is_log=True)
    assert [unit.said(value) for value in (0.1, 1.0, 100.0, 1e3, 1e4)] == [
        "100 kB/s",
        "1 MB/s",
        "100 MB/s",
        "1 GB/s",
        "10 GB/s",
    ]
    assert unit.label("Bandwidth") == "Bandwidth"


def test_dots_are_told_of_only_where_they_are_seen() -> None:
    bounded = [record | {"bound_latency_us": record["latency_us"]} for record in pingpong("tcp")]
    assert "Dotted" not in below(curves.draw(bounded, None, ["latency_us"]))


def test_each_imported_file_is_a_line_of_its_own() -> None:
    records = [record | {"file": f"osu_bw.{host}.txt"} for host in ("n1", "n2") for record in pingpong()]
    lines = curves.curves_of(records, "size_B", "latency_us")
    assert [(line.name, len(line.x)) for line in lines] == [("osu_bw.n1.txt", 4), ("osu_bw.n2.txt", 4)]


def test_units_are_scaled_and_labels_stand_upright() -> None:
    sizes = tuple(2**power for power in range(3, 23))
    fast: list[Record] = [
        record | {"fabric": f"a-fabric-with-a-long-name-{n}", "bandwidth_MBps": 1e3 * (1 + n + index)}
        for n in range(3)
        for index, record in enumerate(pingpong(sizes=sizes))
    ]
    fast = [
        record | {"latency_us": float(str(record["latency_us"])) * (1 + ord(str(record["fabric"])[-1]) - 48)}
        for record in fast
    ]
    figure = curves.draw(fast)
    FigureCanvasAgg(figure).draw()
    latency, bandwidth = figure.axes
    assert bandwidth.get_ylabel() == "Bandwidth (GB/s)"
    assert latency.get_ylabel() == "Latency (µs)"
    assert {label.get_rotation() for axes in figure.axes for label in axes.get_xticklabels()} == {0.0}
    for axes in figure.axes:
        boxes = [label.get_window_extent() for label in axes.get_xticklabels() if label.get_text()]
        assert all(left.x1 < right.x0 for left, right in pairwise(boxes)), labels(axes)


def test_lines_that_hide_each_other_get_charts_of_their_own() -> None:
    other = [record | {"via": "tcp", "latency_us": float(str(record["latency_us"])) * 1.001} for record in pingpong()]
    both = pingpong() + other
    split = curves.draw(both, None, ["latency_us"])
    assert [axes.get_title(loc="left") for axes in split.axes] == ["shm", "tcp"]
    assert split.axes[0].get_ylim() == split.axes[1].get_ylim()
    together = curves.draw(both, None, ["latency_us"], look=curves.Look(panels="one"))
    assert len(together.axes) == 1
    apart = [record | {"latency_us": 3.0 * float(str(record["latency_us"]))} for record in other]
    assert len(curves.draw(pingpong() + apart, None, ["latency_us"]).axes) == 1
    many = [
        record | {"latency_us": 2.0**n * float(str(record["latency_us"]))}
        for n in range(9)
        for record in pingpong(f"v{n}")
    ]
    drawn = [axes for axes in curves.draw(many, None, ["latency_us"]).axes if axes.axison]
    assert len(drawn) == 9, "nine lines are too many for one chart"


def test_small_charts_share_their_axes_and_keep_their_titles_apart() -> None:
    fast, name = pingpong(sizes=(8, 64, 4096)), "a network whose name is longer than its small chart is wide"
    slow = [record | {"via": name, "bandwidth_MBps": 0.01 * float(str(record["bandwidth_MBps"]))} for record in fast]
    figure = curves.draw(fast + slow, None, ["bandwidth_MBps"], look=curves.Look(panels="each"))
    first, second = figure.axes
    assert first.get_yscale() == "log", "a hundredth of the other would lie flat on a linear axis"
    assert first.get_ylim() == second.get_ylim()
    assert second.get_title(loc="left").splitlines() == [
        "a network whose name is longer than",
        "its small chart is wide",
    ]


def test_what_limits_a_line_does_not_cut_it() -> None:
    records = [record | {"limiter": "bus" if int(str(record["size_B"])) > 64 else "link"} for record in pingpong()]
    assert len(curves.curves_of(records, "size_B", "latency_us")) == 1


def test_a_title_and_notes_by_option() -> None:
    figure = curves.draw(pingpong(), look=curves.Look("Our machine", ["Two ranks.", "Idle."]))
    assert figure.get_suptitle() == "Our machine"
    assert figure.get_supxlabel().splitlines() == [
        "Two ranks.",
        "Idle.",
        "Dotted: the bound. Bars: 95 % intervals of the medians.",
    ]


def test_a_long_title_and_a_long_note_stay_within_the_picture() -> None:
    long = "Latency of messages between two ranks " * 8
    figure = curves.draw(pingpong(), None, ["latency_us"], look=curves.Look(long, [long]))
    FigureCanvasAgg(figure).draw()
    short = curves.draw(pingpong(), None, ["latency_us"], look=curves.Look("Latency"))
    assert figure.get_figheight() > short.get_figheight()
    texts = [text for text in figure.findobj(Text) if text.get_text().startswith("Latency of")]
    assert len(texts) == 2
    for text in texts:
        assert "\n" in text.get_text()
        assert text.get_window_extent().x1 <= figure.bbox.x1


def test_a_bound_is_told_of_as_it_is_drawn() -> None:
    jobs: list[Record] = [
        {"benchmark": "jobs", "job": job, "size_B": size, "latency_us": 9.0, "bound_latency_us": 8.0, "node_list": job}
        for job, size in (("a", 8), ("b", 64))
    ]
    assert curves.draw(jobs).get_supxlabel() == "Short bar: the bound of a point."
    without = [{key: value for key, value in job.items() if key != "bound_latency_us"} for job in jobs]
    assert curves.draw(without).get_supxlabel() == ""


def test_outcomes_do_not_part_a_line() -> None:
    said = [{}, {"too_short": "correlation 0.45"}, {"too_short": "no steady state", "saturated": True}]
    traffic: list[Record] = [
        {"fabric": fabric, "load": 0.1 * at, "latency_us": by * at, "warmup_samples": at, **outcome}  # type: ignore[dict-item]
        for fabric, by in (("a", 1.0), ("b", 5.0))
        for at, outcome in enumerate(said, 1)
    ]
    lines = curves.curves_of(traffic, "load", "latency_us")
    assert [(line.name, len(line.x)) for line in lines] == [("a", 3), ("b", 3)]


def described(figure: Any) -> str:  # noqa: ANN401
    """A picture in words: each part and its place, without parts that other versions of matplotlib draw otherwise."""
    FigureCanvasAgg(figure).draw()
    lines = [f"title: {figure.get_suptitle()}", f"notes: {figure.get_supxlabel()}"]
    for axes in figure.axes:
        marks = [
            [label.get_text() for label in labels if label.get_text()]
            for labels in (axes.get_xticklabels(), axes.get_yticklabels())
        ]
        lines.append(f"chart: {axes.get_title(loc='left')} | {axes.get_xlabel()} | {axes.get_ylabel()}")
        lines += [f"  across: {' '.join(marks[0])}", f"  upwards: {' '.join(marks[1])}"]
        for line in axes.lines:
            ends = [f"{float(np.asarray(data, float)[-1]):g}" for data in line.get_data()]
            lines.append(
                f"  line: {line.get_color()} {line.get_drawstyle()} {line.get_linestyle()} to {' '.join(ends)}"
            )
        lines += [f"  name: {text.get_text()!r} {text.get_color()}" for text in axes.texts]
    return "\n".join(lines) + "\n"


GOLDEN = Path(__file__).parent / "data"


@pytest.mark.parametrize("name", ["pingpong", "small", "nodes"])
def test_pictures_are_the_golden_ones(name: str) -> None:
    slow = [
        record | {key: by * float(str(record[key])) for key, by in (("latency_us", 4.0), ("bandwidth_MBps", 0.25))}
        for record in pingpong("tcp")
    ]
    steps: list[Record] = [
        {"fabric": fabric, "method": "load", "nodes": nodes, "bandwidth_per_node_MBps": rate / nodes}
        for fabric, rate in (("a", 9e5), ("b", 3e5))
        for nodes in (8, 16, 32, 64)
    ]
    figure = {
        "pingpong": lambda: curves.draw(pingpong() + slow),
        "small": lambda: curves.draw(pingpong() + slow, None, ["latency_us"], look=curves.Look(panels="each")),
        "nodes": lambda: curves.draw(steps),
    }[name]()
    file = GOLDEN / f"{name}.txt"
    today = described(figure)
    if os.environ.get("HOTLINK_GOLDEN") == "write":
        file.write_text(today)
    assert today == file.read_text(), "HOTLINK_GOLDEN=write accepts a change; look at the picture first"


def test_a_line_has_one_name_and_colour_in_all_charts() -> None:
    streams: list[Record] = [
        {"benchmark": "stream", "program": "osu", "size_B": size, "bandwidth_MBps": 9.0, "bound_bandwidth_MBps": 10.0}
        for size in (8, 64)
    ]
    figure = curves.draw(streams + pingpong())
    latency, bandwidth = figure.axes
    colours = [{str(line.get_label()): line.get_color() for line in axes.lines} for axes in (latency, bandwidth)]
    assert {"stream", "pingpong"} <= set(colours[1]), colours
    shared = (set(colours[0]) & set(colours[1])) - {"bound"}
    assert shared
    assert all(colours[0][name] == colours[1][name] for name in shared)
    assert len({colours[1][name] for name in colours[1] if name != "bound" and not name.startswith("_")}) == 2
    assert "shm" not in figure.get_suptitle(), "only what all points have in common"


def test_models_of_every_number_of_nodes_and_distributions_are_steps() -> None:
    model = hotlink.analyze("sci-torus2d", "4..64")
    lines = model.curves("bandwidth_per_node_MBps").axes[0].lines
    assert {line.get_drawstyle() for line in lines if np.size(line.get_xdata()) > 1} == {"steps-post"}
    some = hotlink.analyze("sci-torus2d", "4,16,64").curves("bandwidth_per_node_MBps").axes[0].lines
    assert {line.get_drawstyle() for line in some} == {"default"}
    assert "o" in {line.get_marker() for line in some if np.size(line.get_xdata()) == 3}
    raw: list[Record] = [{**pingpong()[1], "samples": [3.0, 1.0, 2.0]}]  # type: ignore[dict-item]
    line = curves.draw(raw, None, ["samples"]).axes[0].lines[0]
    assert np.asarray(line.get_xdata()).tolist() == [1.0, 2.0, 3.0]
    assert line.get_drawstyle() == "steps-post"


@pytest.mark.parametrize(
    ("records", "y", "told"),
    [
        (pingpong(), ["nonsense"], "allowed: .*latency_us"),
        (pingpong(sizes=(8,)), [], "nothing is swept"),
        (pingpong(), ["samples"], "--raw"),
        ([record for n in range(30) for record in pingpong(f"via{n}")], [], "too many"),
        ([{"a": "b"}], [], "nothing to draw"),
    ],
)
def test_what_cannot_be_drawn_is_said(records: list[Record], y: list[str], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        curves.draw(records, None, y)


def command(*words: str) -> subprocess.CompletedProcess[str]:
    words = (sys.executable, "-m", "hotlink", *words)
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_the_command_draws_the_same_bytes_twice_and_leaves_nothing_else(tmp_path: Path) -> None:
    for via in ("shm", "tcp"):
        document = {"schema": "hotlink/1", "command": [], "environment": {}, "records": pingpong(via)}
        (tmp_path / f"{via}.json").write_text(json.dumps(document))
    files = [str(tmp_path / "shm.json"), str(tmp_path / "tcp.json")]
    for name in ("a.svg", "b.svg", "c.png"):
        done = command("plot", *files, "--out", str(tmp_path / "plots" / name))
        assert done.returncode == 0, done.stderr
    plots = tmp_path / "plots"
    assert sorted(file.name for file in plots.iterdir()) == ["a.svg", "b.svg", "c.png"]
    assert (plots / "a.svg").read_bytes() == (plots / "b.svg").read_bytes()
    assert "1 MiB" in (plots / "a.svg").read_text()
    assert (plots / "c.png").read_bytes().startswith(b"\x89PNG")
    refused = command("plot", files[0], "--y", "nonsense", "--out", str(tmp_path / "new" / "d.png"))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "allowed: " in refused.stderr
    assert not (tmp_path / "new").exists()


def test_a_facet_is_a_row_of_charts_with_the_same_colours() -> None:
    records = [record | {"fabric": fabric} for fabric in ("a", "b") for record in pingpong() + pingpong("tcp")]
    figure = curves.draw(records, y=["latency_us", "bandwidth_MBps"], facet="fabric")
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["fabric a", "fabric a", "fabric b", "fabric b"]
    lines = [{line.get_label(): line.get_color() for line in axes.get_lines()} for axes in figure.axes]
    assert lines[0] == lines[2]
    assert lines[1] == lines[3]
    with pytest.raises(ValueError, match="--facet nodes: 0 values"):
        curves.draw(records, facet="nodes")


def test_rows_of_a_facet_have_one_scale() -> None:
    records: list[Record] = [
        {"fabric": fabric, "nodes": nodes, "bandwidth_per_node_MBps": rate}
        for fabric, rate, sizes in (("a", 50_000.0, (64, 128, 256)), ("b", 25_000.0, (64, 128)))
        for nodes in sizes
    ]
    first, second = curves.draw(records, facet="fabric").axes
    assert first.get_ylim() == second.get_ylim()
    assert first.get_xlim() == second.get_xlim()


def test_money_of_each_year_has_a_chart_and_a_scale_of_its_own() -> None:
    prices = (("sci", 2002, 9e4), ("gige", 2006, 2e3), ("myri", 2006, 4e3))
    records: list[Record] = [
        {
            "fabric": fabric,
            "nodes": nodes,
            "prices": f"{fabric}-{year}",
            "prices_year": str(year),
            "cost_USD": cost * nodes,
            "idle_latency_us": 1.0 * nodes,
        }
        for fabric, year, cost in prices
        for nodes in (16, 32, 64)
    ]
    figure = curves.draw(records, y=["cost_USD"])
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["Prices of 2002: sci", "Prices of 2006"]
    assert [len(axes.get_lines()) for axes in figure.axes] == [1, 4], "two lines, and a mark at the end of each"
    assert figure.axes[0].get_ylim() != figure.axes[1].get_ylim()
    assert "a scale of its own" in str(figure.get_supxlabel())
    assert "a scale of its own" in str(curves.draw(records, y=["cost_USD"], facet="fabric").get_supxlabel())
    one = [record for record in records if record["prices_year"] == "2006"]
    assert len(curves.draw(one, y=["cost_USD"]).axes) == 1
    for y, facet in ((["cost_USD", "idle_latency_us"], None), (["cost_USD"], "nodes")):
        with pytest.raises(ValueError, match=r"cost_USD is of several years \(2002, 2006\)"):
            curves.draw(records, y=y, facet=facet)


def test_dollars_are_no_formulas(tmp_path: Path) -> None:
    records: list[Record] = [record | {"fabric": r"$\foo{ $ x"} for record in pingpong()]
    look = curves.Look(title=r"cost $\frac{ $ x", notes=["a $y$"])
    curves.save(records, tmp_path / "d.svg", None, (), look=look)
    text = (tmp_path / "d.svg").read_text()
    assert r"cost $\frac{ $ x" in text
    assert "a $y$" in text
