"""What is made of results: comparisons of runs, scores and figures of studies, reports, answers beside measurements."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import hotlink
from hotlink import Record, Result


def saved(result: Result, file: Path) -> Path:
    """A result as the command prints it."""
    document = {"schema": hotlink.result.SCHEMA, "command": ["hotlink"], "environment": {}, "records": list(result)}
    file.write_text(json.dumps(document))
    return file


def test_runs_are_compared_as_by_the_command(tmp_path: Path) -> None:
    base: Record = {"fabric": "gige", "benchmark": "pingpong", "method": "packet"}
    slow: list[Record] = [{**base, "size_B": size, "latency_us": 10.0} for size in (8, 4096)]
    before = saved(Result(slow), tmp_path / "before.json")
    after = saved(Result([{**slow[0], "latency_us": 7.0}]), tmp_path / "after.json")
    rows = hotlink.compare_runs(before, after, floor="10%", junit=tmp_path / "runs.xml")
    assert [row["verdict"] for row in rows] == ["improvement", "only before"]
    assert list(rows) == list(hotlink.run("compare-runs", before, after, "--floor", "10%"))
    suite = ElementTree.parse(tmp_path / "runs.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    hotlink.compare_runs(before, after, allow_missing=True, junit=tmp_path / "runs.xml")
    assert ElementTree.parse(tmp_path / "runs.xml").getroot()[0].get("failures") == "0"
    assert hotlink.compare_runs(before, after, floor=0.5)[0]["verdict"] == "same"
    with pytest.raises(hotlink.InputError, match="floor: `2`: must be a share"):
        hotlink.compare_runs(before, after, floor=2)
    with pytest.raises(hotlink.InputError, match="no-such"):
        hotlink.compare_runs(before, after, ignore="no-such")
    with pytest.raises(hotlink.InputError, match="junit"):
        hotlink.compare_runs(before, after, junit=before)


def test_commands_run_in_turn(tmp_path: Path) -> None:
    file = saved(Result([{"benchmark": "pingpong", "size_B": 8, "latency_us": 10.0}]), tmp_path / "one.json")
    log = tmp_path / "log"
    a, b = (f"echo {name} >> {log}; cat {file}" for name in "ab")
    rows = hotlink.compare_commands(a, b, pairs=6)
    assert [(row["verdict"], row["ratio"]) for row in rows] == [("same", 1.0)]
    assert sorted(log.read_text().split()) == ["a"] * 6 + ["b"] * 6
    with pytest.raises(hotlink.InputError, match="pairs=5: must be 6 to 1000"):
        hotlink.compare_commands(a, b, pairs=5)


def test_a_study_has_its_score_and_its_figures(tmp_path: Path) -> None:
    score = hotlink.reproduce("H06", score=True, figures=tmp_path / "figures")
    assert list(score) == list(hotlink.run("reproduce", "H06", "--score"))
    assert (score[0]["study"], score[0]["kind"]) == ("H06", "score")
    drawn = list((tmp_path / "figures").iterdir())
    assert len(drawn) > 3
    assert all(file.suffix == ".svg" and ElementTree.parse(file) for file in drawn)
    claims = list(hotlink.reproduce("H06"))
    assert len(score) > 10
    assert all(record in claims for record in score[1:])
    with pytest.raises(hotlink.InputError, match="leave out score or measure"):
        hotlink.reproduce("H06", score=True, measure=True)


def test_a_report_goes_to_a_server_as_well(tmp_path: Path) -> None:
    file = saved(hotlink.simulate("pingpong", "gige", 2, size=8), tmp_path / "m.json")
    (tmp_path / "a.toml").write_text("[[require]]\nwhere = { size_B = 8 }\nlatency_us = { at_most = 0.001 }\n")
    judged = hotlink.report(file, out=tmp_path / "r.html", require=tmp_path / "a.toml", junit=tmp_path / "r.xml")
    suite = ElementTree.parse(tmp_path / "r.xml").getroot()[0]
    assert (judged[0]["verdict"], suite.get("failures")) == ("fail", "1")
    with pytest.raises(hotlink.InputError, match="junit"):
        hotlink.report(file, out=tmp_path / "r.html", junit=file)


def test_measured_results_stand_with_the_engines_answers(tmp_path: Path) -> None:
    real: Record = {"benchmark": "pingpong", "method": "measured", "ranks": 2, "size_B": 8, "latency_us": 40.0}
    file = saved(Result([real]), tmp_path / "m.json")
    together = hotlink.simulate("pingpong", "gige", 2, size=8, method="all", measured=file)
    words = ("simulate", "pingpong", "--fabric", "gige", "--nodes", "2", "--size", "8", "--method", "all")
    assert [{**record, "wall_s": 0} for record in together] == [
        {**record, "wall_s": 0} for record in hotlink.run(*words, "--measured", file)
    ]
    [mine] = [record for record in together if record["method"] == "measured"]
    assert mine["latency_us"] == 40.0
    alone = hotlink.simulate("pingpong", "gige", 2, size=8, method="measured", measured=[file])
    assert [record["method"] for record in alone] == ["measured"]
    with pytest.raises(hotlink.InputError, match="measured: results stand beside answers only with method all"):
        hotlink.simulate("pingpong", "gige", 2, size=8, measured=file)
