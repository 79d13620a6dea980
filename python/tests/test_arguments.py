"""Arguments: options that a benchmark lacks, values of NumPy, no arguments at all, and the call in a result."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hotlink


@pytest.mark.parametrize(
    ("benchmark", "fabric", "options", "refused"),
    [
        ("deposit", "k98-sci", {"nodes": 64}, "nodes"),
        ("deposit", "k98-sci", {"via": "tcp"}, "via"),
        ("deposit", "k98-sci", {"capacities": "theoretical"}, "capacities"),
        ("deposit", "k98-sci", {"faults": "/no/such/file"}, "faults"),
        ("deposit", "k98-sci", {"links": True}, "links"),
        ("deposit", "k98-sci", {"without": [9]}, "without"),
        ("deposit", "k98-sci", {"inject": {"late": 90}}, "inject"),
        ("deposit", "k98-sci", {"method": "loggp"}, "method"),
        ("deposit", "k98-sci", {"trace": "trace.json"}, "trace"),
        ("cache-study", "w01-sci-d330", {"nodes": 8}, "nodes"),
        ("barrier", "hwbarr", {"nodes": 4, "size": 8}, "size"),
        ("barrier", "hwbarr", {"nodes": 4, "packet_size": 64}, "barrier network"),
        ("barrier", "hwbarr", {"nodes": 4, "method": "load"}, "method"),
        ("barrier", "gige", {"nodes": 4, "size": 8}, "size"),
        ("bcast", "qsnet", {"nodes": 4, "algorithm": "nic", "memory": "private"}, "own collectives"),
        ("kernel", "gige", {"nodes": 4, "size": 8}, "size"),
        ("is", "gige", {"nodes": 4, "size": 8}, "size"),
        ("goal", None, {"nodes": 4, "generate": "barrier:tree", "loggp": "L=2us,o=1us,g=1ns,G=0", "seed": 2}, "seed"),
    ],
)
def test_what_a_benchmark_would_not_heed_is_refused(
    benchmark: str, fabric: str | None, options: dict[str, Any], refused: str
) -> None:
    with pytest.raises(hotlink.InputError, match=rf"{refused}\b"):
        hotlink.simulate(benchmark, fabric, **options)


def test_a_schedule_runs_on_packets_as_by_command(tmp_path: Path) -> None:
    file = tmp_path / "two--ranks.goal"
    file.write_text("num_ranks 2\nrank 0 {\nl1: send 4096b to 1 tag 0\n}\nrank 1 {\nl1: recv 4096b from 0 tag 0\n}\n")
    fabric = "ib-ndr-fat-tree2"
    [command] = hotlink.run("simulate", "goal", file, "--fabric", fabric)
    assert hotlink.simulate("goal", fabric, file=file)[0]["trace_hash"] == command["trace_hash"]
    [other] = hotlink.simulate("goal", fabric, file=file, method="packet", packet_size=256)
    assert other["packet_B"] == 256
    with pytest.raises(hotlink.InputError, match="memory: is no choice of goal"):
        hotlink.simulate("goal", fabric, file=file, memory="private")
    with pytest.raises(hotlink.InputError, match=r"no--ranks\.goal"):
        hotlink.simulate("goal", fabric, file=tmp_path / "no--ranks.goal")


def test_errors_leave_names_of_files_as_they_are() -> None:
    for name in ("my--fabric-file.toml", "/tmp/run--job-a 3/fabric.toml"):
        with pytest.raises(hotlink.InputError) as refused:
            hotlink.analyze(name, 4)
        assert name in str(refused.value)


def test_numbers_of_numpy_are_numbers() -> None:
    plain = hotlink.simulate("stream", "ib-qdr", size=4096, seed=3, streams=1, direction="uni")
    numpy = hotlink.simulate(
        "stream",
        "ib-qdr",
        size=np.int64(4096),  # type: ignore[arg-type]
        seed=np.int64(3),  # type: ignore[arg-type]
        streams=np.int64(1),  # type: ignore[arg-type]
        direction="uni",
    )
    assert numpy == plain
    sizes = hotlink.simulate("pingpong", "ib-qdr", size=np.array([8, 64]))
    assert [record["size_B"] for record in sizes] == [8, 64]
    asked: dict[str, Any] = {"technology": "infiniband", "oversubscription": np.int64(2)}
    assert len(hotlink.design(np.int64(16), **asked)) > 0  # type: ignore[arg-type]
    region = hotlink.simulate_region("w01-sci-d330", kind="rdma", size=np.int64(4096))  # type: ignore[arg-type]
    assert region[0]["size_B"] == 4096
    measured = hotlink.measure("pingpong", size=np.int64(64), time=0.05, blocks=2)  # type: ignore[arg-type]
    assert measured[0]["size_B"] == 64


@pytest.mark.parametrize(
    "ask",
    [
        lambda: hotlink.simulate("traffic", "gige", 8, load=[]),
        lambda: hotlink.simulate("stream", "gige", direction=[]),
        lambda: hotlink.simulate_region("w01-sci-d330", kind=[]),
        lambda: hotlink.reproduce([]),
        lambda: hotlink.import_results("osu", []),
        lambda: hotlink.calibrate([]),
        lambda: hotlink.diagnose([]),
        lambda: hotlink.report([]),
        lambda: hotlink.load_fabric(),
        lambda: hotlink.design(16, technology=[]),
        lambda: hotlink.measure("stream", direction=[]),
    ],
)
def test_nothing_is_no_input(ask: Callable[[], object]) -> None:
    with pytest.raises(hotlink.InputError, match="must be one"):
        ask()


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: hotlink.simulate("pingpong", "gige", -1), "nodes: must be a number from 1 to 4294967295"),
        (lambda: hotlink.simulate("pingpong", "gige", 2**32), "nodes: must be a number from 1 to 4294967295"),
        (lambda: hotlink.simulate("pingpong", "gige", size=-1), "size: must be bytes, 0 or more"),
        (lambda: hotlink.simulate("pingpong", "gige", seed=-1), "seed: -1: must be a whole number, 0 or more"),
    ],
)
def test_a_wrong_number_is_told_with_what_is_allowed(ask: Callable[[], object], told: str) -> None:
    with pytest.raises(hotlink.InputError, match=told):
        ask()


def test_loads_are_ranges_in_words_too() -> None:
    asked = {"traffic": "uniform", "size": 4096, "messages": 10}
    several = hotlink.simulate("traffic", "ib-qdr", 8, load="0.1..0.3", **asked)  # type: ignore[arg-type]
    assert [record["load"] for record in several] == [0.1, 0.2, 0.3]
    with pytest.raises(TypeError, match="'foo'"):
        hotlink.simulate_schedule("x.goal", "gige", foo=0)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="'foo'"):
        hotlink.simulate_jobs("x.toml", "gige", foo=0)  # type: ignore[call-arg]


def test_a_call_tells_what_shaped_the_result(tmp_path: Path) -> None:
    [call] = hotlink.analyze("sci-ring", 4, method="load", why=True, links=True, sensitivity=True).command
    assert all(part in call for part in ("why=True", "links=True", "sensitivity=True"))
    out = tmp_path / "report"
    compared = hotlink.compare(["sci-ring", "sci-torus2d"], [4, 9], across_eras=True, out=out)
    assert "across_eras=True" in compared.command[0]
    assert json.loads((out / "compare.json").read_text())["command"] == compared.command
    assert "seed=0" in hotlink.simulate("pingpong", "gige", size=8, seed=0).command[0]


def test_a_result_is_read_in_every_form(tmp_path: Path) -> None:
    result = hotlink.simulate("pingpong", "ib-qdr", size=[8, 64])
    lines, table, whole = (tmp_path / f"a.{suffix}" for suffix in ("jsonl", "csv", "json"))
    lines.write_text("".join(json.dumps(record) + "\n" for record in result))
    names = ["fabric", "nodes", "size_B", "latency_us"]
    rows = [",".join(json.dumps(record[name]).strip('"') for name in names) for record in result]
    table.write_text("\n".join([",".join(names), *rows]) + "\n")
    assert hotlink.Result.load(lines).records == result.records
    assert [record["latency_us"] for record in hotlink.Result.load(table)] == [r["latency_us"] for r in result]
    whole.write_text(json.dumps({"schema": "hotlink/2", "records": result.records}))
    assert hotlink.Result.load(whole).records == result.records
    for text in ('{"schema":"hotlink/2"}', '{"schema":"hotlink/2","records":5}', "{", "[]"):
        with pytest.raises(hotlink.InputError):
            hotlink.Result.from_json(text)
    for file in (tmp_path / "none.json", tmp_path):
        with pytest.raises(hotlink.InputError, match="cannot be read"):
            hotlink.Result.load(file)


def test_the_command_draws_in_python_too(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / "a.json"
    result = hotlink.run("simulate", "pingpong", "--fabric", "ib-qdr", "--size", "8,64,512")
    file.write_text(json.dumps({"schema": "hotlink/2", "records": result.records}))
    hotlink.run("plot", file, "--out", tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 0


def test_schedules_and_comparisons_take_what_the_command_takes(tmp_path: Path) -> None:
    file = tmp_path / "two.goal"
    file.write_text("num_ranks 2\nrank 0 {\nl1: send 4096b to 1 tag 0\n}\nrank 1 {\nl1: recv 4096b from 0 tag 0\n}\n")
    fabric = "ib-ndr-fat-tree2"
    words = ("--packet-size", "256", "--paths", "flow", "--capacities", "theoretical", "--sensitivity")
    asked: dict[str, Any] = {"packet_size": 256, "paths": "flow", "capacities": "theoretical", "sensitivity": True}
    [command] = hotlink.run("simulate", "schedule", file, "--fabric", fabric, *words)
    [record] = hotlink.simulate_schedule(file, fabric, **asked)
    assert [record["trace_hash"], record["sensitivity"]] == [command["trace_hash"], command["sensitivity"]]
    compared = hotlink.compare(fabric, 64, paths="flow", sensitivity=True, hash_seeds=2)
    options = ("--nodes", "64", "--paths", "flow", "--sensitivity", "--hash-seeds", "2")
    assert list(compared) == list(hotlink.run("compare", fabric, *options))


@pytest.mark.parametrize(
    "call",
    [
        "hotlink.simulate('traffic', 'ib-ndr-fat-tree2', 512, load=0.9, messages=20_000)",
        "hotlink.run('simulate', 'traffic', '--fabric', 'ib-ndr-fat-tree2', '--nodes', '512', '--messages', '20000')",
        "hotlink.analyze('ib-ndr-fat-tree2', 2048, traffic='permutation:random', samples=100_000)",
        "hotlink.measure('pingpong', size=8, time=100)",
    ],
)
def test_an_interrupt_ends_a_long_call_and_its_work(call: str) -> None:
    program = f"""
import time, hotlink
print(flush=True)
try:
    {call}
except KeyboardInterrupt:
    time.sleep(2)
    before = time.process_time()
    time.sleep(1)
    print("interrupted", time.process_time() - before < 0.2)
"""
    running = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert running.stdout is not None
    running.stdout.readline()
    time.sleep(1)
    os.kill(running.pid, signal.SIGINT)
    told, _ = running.communicate(timeout=30)
    assert told == b"interrupted True\n"
