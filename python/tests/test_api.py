"""The Python functions say what the command says, in Python's terms."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import hotlink
from hotlink import Result

NODES = range(2, 33)


@pytest.fixture(scope="module")
def comparison() -> Result:
    return hotlink.compare(["sci-ring", "sci-torus2d"], nodes=NODES)


def test_compare_has_every_fabric_at_every_size(comparison: Result) -> None:
    cells = comparison.where(kind="fabric")
    assert [(cell["fabric"], cell["nodes"]) for cell in cells] == [
        (fabric, nodes) for fabric in ("sci-ring", "sci-torus2d") for nodes in NODES
    ]
    assert all(isinstance(cell["bandwidth_per_node_MBps"], float) for cell in cells)


def test_analyze_agrees_with_the_closed_form() -> None:
    result = hotlink.analyze("sci-torus2d", [9, 64], capacities="theoretical")
    formula, load = result.where(method="formula"), result.where(method="load")
    for a, b in zip(formula, load, strict=True):
        assert a["bandwidth_per_node_MBps"] == pytest.approx(b["bandwidth_per_node_MBps"])
    # M02 Eq. 4 with r = 8, N = 64: 63 / 224 of 444.7 MB/s.
    assert formula[1]["bandwidth_per_node_MBps"] == pytest.approx(63 / 224 * 667 * 2 / 3)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("analyze", "sci-rng", "--nodes", "8"), "did you mean `sci-ring`"),
        (("analyze", "sci-ring", "--nodes", "0"), "allowed"),
        (("nonsense",), "unrecognized"),
    ],
)
def test_bad_input_is_an_exception_that_says_what_is_allowed(arguments: tuple[str, ...], part: str) -> None:
    with pytest.raises(hotlink.InputError, match=part) as caught:
        hotlink.run(*arguments)
    assert isinstance(caught.value, ValueError)


def test_data_frames_hold_every_key(comparison: Result) -> None:
    for frame in (comparison.to_polars(), comparison.to_pandas()):
        assert len(frame) == len(comparison)
        assert {"fabric", "nodes", "injection_share", "cost_USD"} <= set(frame.columns)


def test_a_result_is_a_sequence_that_can_be_read_back(comparison: Result, tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    document = {"schema": "hotlink/1", "command": [], "environment": {}, "records": list(comparison)}
    file.write_text(json.dumps(document))
    assert list(Result.load(file)) == list(comparison)
    assert comparison[0] == next(iter(comparison))
    assert len(comparison[:2]) == 2
    with pytest.raises(hotlink.InputError, match="schema"):
        Result.from_json("[]")


def test_results_of_the_version_before_are_read_in_todays_keys() -> None:
    old = {"fabric": "x", "nodes": 4, "method": "load", "efficiency": 0.5, "bound_bandwidth_per_node_MBps": 10.0}
    read = Result.from_json(json.dumps({"schema": "hotlink/1", "command": ["hotlink"], "records": [old]}))
    assert (read[0]["injection_share"], read[0]["injection_per_node_MBps"]) == (0.5, 10.0)
    assert "efficiency" not in read[0]
    assert read.command == ["hotlink"]


def test_the_command_is_the_rust_command_line_with_plots(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hotlink", "compare", "sci-ring", "sci-torus2d", "--nodes", "2..8", "--out"]
    done = subprocess.run([*command, str(tmp_path / "report")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    written = {file.name for file in (tmp_path / "report").iterdir()}
    plots = {f"{name}.{suffix}" for name in ("bandwidth", "cost", "cost-per-MBps") for suffix in ("png", "svg")}
    assert written == plots | {"compare.csv", "compare.json", "summary.md"}
    assert "![bandwidth](bandwidth.png)" in (tmp_path / "report" / "summary.md").read_text()


def test_the_command_has_the_status_of_the_rust_command_line() -> None:
    command = [sys.executable, "-m", "hotlink", "analyze", "sci-rng", "--nodes", "8"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "sci-ring" in done.stderr


def test_a_junit_report_is_sound_xml_whatever_the_names(tmp_path: Path) -> None:
    def write(name: str, latency: float) -> Path:
        base = {"benchmark": 'ping<&>"pong', "method": "measured", "program": "own", "note\x01": "\x02"}
        known = {"statistic_of": "latency_us", "ci95_low": 0.9 * latency, "ci95_high": 1.1 * latency}
        records = [
            {**base, "size_B": 8, "latency_us": latency, **known},
            {**base, "size_B": int(latency), "latency_us": 1.0},
        ]
        file = tmp_path / name
        file.write_text(json.dumps({"schema": "hotlink/1", "command": [], "environment": {}, "records": records}))
        return file

    report = tmp_path / "out.xml"
    result = hotlink.run("compare-runs", write("a.json", 1.0), write("b.json", 2.0), "--junit", report)
    suite = ElementTree.parse(report).getroot()[0]
    assert [case["verdict"] for case in result] == ["only before", "only after", "regression"]
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "2", "1")
    cases = suite.findall("testcase")
    assert [case.get("classname") for case in cases] == ['ping<&>"pong'] * 3
    assert [len(case.findall("failure")) for case in cases] == [1, 0, 1], "what AFTER lacks is a failure"


def test_a_forked_process_simulates_after_its_parent_did() -> None:
    """The command's threads are not forked with the process that has them: the child must not wait for them."""
    script = """
import os, signal, hotlink
words = ("simulate", "saturation", "--fabric", "sci-ring", "--senders", "1..3", "--size", "4KiB")
hotlink.run(*words)
child = os.fork()
if child == 0:
    signal.alarm(30)
    os._exit(0 if len(hotlink.run(*words).records) == 3 else 1)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", script], timeout=60, check=True)
