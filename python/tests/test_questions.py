"""Typed functions: values in, results out, in Python's terms."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hotlink


def test_a_simulation_is_what_the_command_says() -> None:
    result = hotlink.simulate("alltoall", fabric="sci-torus2d", nodes=16, size="64KiB")
    words = ("simulate", "alltoall", "--fabric", "sci-torus2d", "--nodes", "16", "--size", "64KiB")
    command = hotlink.run(*words)
    assert [{**record, "wall_s": 0} for record in result] == [{**record, "wall_s": 0} for record in command]
    assert str(result) == repr(result)
    assert "alltoall" in repr(result)
    assert len(repr(result)) < 300


@pytest.mark.parametrize(
    ("benchmark", "words", "options"),
    [
        ("stream", ["--size", "8,4096"], {"size": [8, 4096]}),
        ("rate", ["--pairs", "2", "--size", "8"], {"pairs": 2, "size": 8}),
        ("bcast", ["--nodes", "4", "--size", "4KiB", "--algorithm", "binomial"],
         {"nodes": 4, "size": "4KiB", "algorithm": "binomial"}),
        ("pingpong", ["--size", "8", "--memory", "registered"], {"size": 8, "memory": "registered"}),
        ("is", ["--ranks", "2", "--memory", "private"], {"nodes": 2, "memory": "private"}),
        ("overlap", ["--side", "sender", "--spin", "fixed,daxpy", "--compute", "0.5,1"],
         {"side": "sender", "spin": ["fixed", "daxpy"], "compute": [0.5, 1]}),
        ("deposit", ["--strides", "1,2", "--series", "local"], {"strides": [1, 2], "series": "local"}),
        ("cache-study", ["--pattern", "phases", "--cache", "lru,random", "--uses", "40"],
         {"pattern": "phases", "cache": ["lru", "random"], "uses": 40}),
        ("barrier", ["--nodes", "4", "--algorithm", "tree,dissemination"],
         {"nodes": 4, "algorithm": ["tree", "dissemination"]}),
        ("traffic", ["--nodes", "4", "--size", "4KiB", "--load", "0.5"], {"nodes": 4, "size": "4KiB", "load": 0.5}),
    ],
)  # fmt: skip
def test_every_option_means_what_it_means_to_the_command(
    benchmark: str, words: list[str], options: dict[str, object]
) -> None:
    result = hotlink.simulate(benchmark, "w01-sci-d330", **options)  # type: ignore[arg-type]
    command = hotlink.run("simulate", benchmark, "--fabric", "w01-sci-d330", *words)
    assert [record["trace_hash"] for record in result] == [record["trace_hash"] for record in command]


def test_barrier_networks_and_schedules_answer_without_packets() -> None:
    barrier = hotlink.simulate("barrier", "hwbarr", 4, algorithm="hardware", skew_us=2, repetitions=10)
    words = ("--nodes", "4", "--skew-us", "2", "--repetitions", "10")
    assert barrier[0]["trace_hash"] == hotlink.run("simulate", "barrier", "--fabric", "hwbarr", *words)[0]["trace_hash"]
    machine = "L=2us,o=0.5us,g=50ns,G=0"
    goal = hotlink.simulate("goal", nodes=[2, 4], generate="barrier:dissemination", loggp=machine)
    assert [record["latency_us"] for record in goal] == [3.0, 6.0]
    own = hotlink.simulate("bcast", "qsnet", 8, size=8, algorithm=["hardware", "tree"])
    assert [record["algorithm"] for record in own] == ["hardware", "tree"]


def test_analysis_and_comparison_are_what_the_command_says(tmp_path: Path) -> None:
    analysis = hotlink.analyze("sci-ring", [4, 8], traffic="permutation:random", samples=5, seed=3)
    words = ("--nodes", "4,8", "--traffic", "permutation:random", "--samples", "5", "--seed", "3")
    assert list(analysis) == list(hotlink.run("analyze", "sci-ring", *words))
    comparison = hotlink.compare(["sci-ring", "sci-torus2d"], [4, 9], out=tmp_path / "report")
    assert list(comparison) == list(hotlink.run("compare", "sci-ring", "sci-torus2d", "--nodes", "4,9"))
    assert {file.name for file in (tmp_path / "report").iterdir()} == {"compare.csv", "compare.json", "summary.md"}


def test_changes_to_a_fabric_are_those_of_the_command() -> None:
    asked = ("analyze", "eth-400g-leaf-spine", "--nodes", "512", "--method", "load")
    words = ("--oversubscription", "2:1", "--radix", "40")
    of = hotlink.analyze("eth-400g-leaf-spine", 512, method="load", oversubscription="2:1", radix=40)
    assert list(of) == list(hotlink.run(*asked, *words))
    [offer] = [record for record in hotlink.compare("ib-ndr-fat-tree2", 512, levels=3) if record["kind"] == "fabric"]
    assert offer["fabric"] == "ib-ndr-fat-tree2:levels=3"
    both = hotlink.compare(["ib-ndr-fat-tree2", "slingshot-dragonfly"], 64, oversubscription=2)
    told = [(record["fabric"], "unchanged" in record) for record in both if record["kind"] == "fabric"]
    assert told == [("ib-ndr-fat-tree2:oversubscription=2", False), ("slingshot-dragonfly", True)]
    with pytest.raises(hotlink.InputError, match="oversubscription: none of these fabrics can have it"):
        hotlink.compare(["sci-ring", "slingshot-dragonfly"], 16, oversubscription=2)
    ping = hotlink.simulate("pingpong", "ib-ndr-fat-tree2", size=8, link="infiniband-hdr")
    assert ping[0]["fabric"] == "ib-ndr-fat-tree2:link=infiniband-hdr"
    with pytest.raises(hotlink.InputError, match="radix: change a fabric, and none is named"):
        hotlink.simulate("goal", nodes=2, loggp="L=2us,o=0.5us,g=50ns,G=0.08ns", radix=40)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"benchmark": "memory"}, "hotlink measure"),
        ({"benchmark": "pingpong", "memory": "warm"}, "memory: `warm` is unknown"),
        ({"benchmark": "bcast"}, "nodes=64"),
        ({"benchmark": "alltoall", "nodes": 0}, "nodes: must be"),
        ({"benchmark": "pingpong", "inject": {"busy": 100}}, "1 to 90"),
        ({"benchmark": "traffic", "nodes": 4, "count": True}, "bare packets"),
        ({"benchmark": "pingpong", "window": 2}, "window: is no choice of pingpong"),
        ({"benchmark": "barrier", "nodes": 4, "algorithm": "hardware", "skew_us": -1}, "skew_us: -1 is out of range"),
        ({"benchmark": "pingpong", "size": "many"}, "size: "),
        ({"benchmark": "traffic", "nodes": 4, "pfc_pause": "much"}, "pfc_pause: "),
    ],
)
def test_errors_name_the_argument(options: dict[str, object], part: str) -> None:
    with pytest.raises(hotlink.InputError, match=part):
        hotlink.simulate(fabric="gige", **options)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        hotlink.simulate("pingpong", "gige", nodez=2)  # type: ignore[call-arg]


def test_a_simulation_leaves_a_timeline(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    result = hotlink.simulate("barrier", "gige", 4, algorithm="dissemination", trace=file, count=True)
    events = json.loads(file.read_text())["traceEvents"]
    assert {event["tid"] for event in events if event["ph"] == "X"} == {0, 1, 2, 3}
    controls = result[0]["count_controls"]
    assert isinstance(controls, int)
    assert controls > 0


def test_a_large_result_is_short_for_people() -> None:
    result = hotlink.compare(["sci-ring", "sci-torus2d"])
    assert len(result) > 200
    assert len(repr(result)) < 300
    table = result._repr_html_()
    assert table.startswith("<table>")
    assert "more records" in table
    assert len(table) < 50_000


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"benchmark": "traffic"}, "hotlink simulate"),
        ({"benchmark": "pingpong", "memory": "warm"}, "memory: `warm` is unknown"),
        ({"benchmark": "pingpong", "direction": "bi"}, "direction: is no choice of pingpong"),
        ({"benchmark": "pingpong", "time": 0}, "time=0: must be"),
        ({"benchmark": "pingpong", "ranks": [2, 4]}, "ranks: must be one number"),
        ({"benchmark": "pingpong", "fabric": "no-such"}, "label:no-such"),
        ({"benchmark": "pingpong", "copy": "ferry"}, "copy: `ferry`"),
        ({"benchmark": "pingpong", "via": "mpi", "stall": 1}, "stall"),
        ({"benchmark": "barrier", "size": 8}, "size: is no choice of barrier"),
        ({"benchmark": "deposit", "word": 5}, "word=5"),
    ],
)
def test_what_cannot_be_measured_is_refused(options: dict[str, Any], part: str) -> None:
    with pytest.raises(hotlink.InputError) as refused:
        hotlink.measure(**options)
    assert part in str(refused.value)


def test_a_measurement_is_asked_for_by_values(tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    measured = hotlink.measure(
        "stream", direction="bi", size=[8, "64KiB"], time=0.01, blocks=1, count=True, trace=trace
    )
    assert [record["size_B"] for record in measured] == [8, 65536]
    assert {record["direction"] for record in measured} == {"bi"}
    assert measured[0]["count_controls"] is not None
    assert "cores" in measured.environment
    assert "stream run" in trace.read_text()
    with pytest.raises(TypeError, match="no argument 'bogus'"):
        hotlink.measure("stream", bogus=1)  # type: ignore[call-arg]


def test_every_engine_that_can_is_asked() -> None:
    answers = hotlink.simulate("alltoall", fabric="sci-torus2d", nodes=16, size=64, method="all")
    words = ["--fabric", "sci-torus2d", "--nodes", "16", "--size", "64", "--method", "all"]
    command = hotlink.run("simulate", "alltoall", *words)
    assert [{**record, "wall_s": 0} for record in answers] == [{**record, "wall_s": 0} for record in command]
    assert [record["method"] for record in answers] == ["formula", "load", "packet"]
    assert "differs" in answers[-1]
    with pytest.raises(hotlink.InputError, match="only the simulator answers"):
        hotlink.simulate("stream", fabric="ib-qdr", nodes=2, method="all")


def test_paths_are_one_or_several_and_a_bound_says_how_it_comes_about() -> None:
    asked = hotlink.simulate("alltoall", fabric="ib-ndr-fat-tree2", nodes=4, size=64, paths=["packet", "flow"])
    assert [record["paths"] for record in asked] == ["packet", "flow"]
    [record] = hotlink.simulate("alltoall", fabric="ib-ndr-fat-tree2", nodes=4, size=64, paths="flow")
    assert record["paths"] == "flow"
    [record] = hotlink.analyze("ib-ndr-fat-tree2", 64, method="load", why=True)
    assert "The least of these is the bound" in str(record["why"])


def test_ranks_are_measured_and_become_a_machine(tmp_path: Path) -> None:
    measured = hotlink.measure("saturation", via="tcp", size="64KiB", time=0.01, blocks=1, pairs="1..2")
    assert measured[0]["method"] == "measured"
    document = {"schema": hotlink.result.SCHEMA, "command": ["hotlink"], "environment": {}, "records": list(measured)}
    (tmp_path / "m.json").write_text(json.dumps(document))
    values = hotlink.calibrate(tmp_path / "m.json", name="here", out=tmp_path / "here.toml")
    assert len(values) > 0
    assert (tmp_path / "here.toml").exists()


def test_design_finds_what_the_command_finds(tmp_path: Path) -> None:
    found = hotlink.design(128, technology="infiniband", oversubscription=[1, 2], out=tmp_path / "design")
    line = ["design", "--hosts", "128", "--technology", "infiniband", "--oversubscription", "1,2"]
    assert list(found) == list(hotlink.run(*line))
    variants = [record for record in found if record["kind"] == "variant"]
    files = {file.name for file in (tmp_path / "design").glob("*.toml")}
    assert files == {f"{record['fabric']}.toml" for record in variants}
    compared = hotlink.compare([tmp_path / "design" / name for name in sorted(files)], 128)
    cost = {record["fabric"]: record["cost_USD"] for record in compared if record["kind"] == "fabric"}
    assert cost == {record["fabric"]: record["cost_USD"] for record in variants}


def test_design_takes_ratios_as_the_command_does() -> None:
    found = hotlink.design(128, technology="infiniband", oversubscription=["1:1", 2])
    assert {record["oversubscription"] for record in found if record.get("kind") == "variant"} >= {1.0, 2.0}
    with pytest.raises(hotlink.InputError, match=r"oversubscription: `abc`.*such as 2:1"):
        hotlink.design(128, technology="infiniband", oversubscription="abc")


def test_designs_without_a_variant_that_keeps_to_the_limits_say_which_binds() -> None:
    found = hotlink.design(128, technology="infiniband", max_racks=1, max_power=1e6, survive={"cable": 0.1})
    binds = {record["constraint"]: record["binds"] for record in found if record["kind"] == "constraint"}
    assert binds == {
        "racks at most 1": True,
        "power at most 1000000 kW": False,
        "after one failed cable at least 0.1": False,
    }
    with pytest.raises(hotlink.InputError, match="nonsense"):
        hotlink.design(128, min_share={"nonsense": 0.5})
    with pytest.raises(TypeError, match="no argument 'rack'"):
        hotlink.design(128, rack=1)  # type: ignore[call-arg]


def test_latency_under_load_is_what_the_command_says() -> None:
    asked: dict[str, Any] = {"traffic": "uniform", "size": "4KiB", "method": "load"}
    result = hotlink.analyze("ib-ndr-fat-tree2", 64, load=[0.3, 0.9], **asked)
    line = "analyze ib-ndr-fat-tree2 --nodes 64 --traffic uniform --size 4KiB --method load --load 0.3,0.9"
    assert list(result) == list(hotlink.run(*line.split()))
    assert [record["load"] for record in result[1:]] == [0.3, 0.9]
    with pytest.raises(hotlink.InputError, match="method load, both or all"):
        hotlink.analyze("sci-torus2d", 16, load=0.5, method="formula")


def test_failures_during_a_collective_are_what_the_command_says() -> None:
    plan = str(Path(__file__).parents[2] / "plans" / "faults" / "spine.toml")
    result = hotlink.simulate("allreduce", "ib-ndr-fat-tree2", nodes=80, size="4KiB", faults=plan)
    line = "simulate allreduce --fabric ib-ndr-fat-tree2 --nodes 80 --size 4KiB --faults"
    command = hotlink.run(*line.split(), plan)
    assert [{**record, "wall_s": 0} for record in result] == [{**record, "wall_s": 0} for record in command]
    record: dict[str, Any] = {**result[0]}
    assert record["fault_slowdown"] == pytest.approx(record["latency_us"] / record["healthy_us"])
    cut = str(Path(plan).with_name("fat-tree.toml"))
    with pytest.raises(hotlink.InputError, match=r"fat-tree.toml:22:8: fault\[3\]: .* leaves no path"):
        hotlink.simulate("allreduce", "ib-ndr-fat-tree2", nodes=80, faults=cut)


def test_jobs_beside_each_other_are_what_the_command_says() -> None:
    plan = str(Path(__file__).parents[2] / "plans" / "jobs-faults.toml")
    result = hotlink.simulate_jobs(plan, "ib-ndr-fat-tree2", placement=["packed", "spread"])
    words = ("simulate", "jobs", plan, "--fabric", "ib-ndr-fat-tree2", "--placement", "packed,spread")
    command = hotlink.run(*words)
    assert [{**record, "wall_s": 0} for record in result] == [{**record, "wall_s": 0} for record in command]
    assert [record["job"] for record in result] == ["transpose", "halo", "all"] * 2
    with pytest.raises(hotlink.InputError, match="placement"):
        hotlink.simulate_jobs(plan, "ib-ndr-fat-tree2", placement="near")


def test_regions_are_what_the_command_says() -> None:
    result = hotlink.simulate_region("w01-sci-d330", kind="rdma", memory=["regular", "registered"], size=4096)
    words = ("simulate", "region", "--fabric", "w01-sci-d330", "--kind", "rdma", "--memory", "regular,registered")
    command = hotlink.run(*words, "--size", "4KiB")
    assert [{**record, "wall_s": 0} for record in result] == [{**record, "wall_s": 0} for record in command]
    assert [record["hold"] for record in result] == ["persistent", "each"] * 2
    with pytest.raises(hotlink.InputError, match=r"hold: .* persistent, each"):
        hotlink.simulate_region("w01-sci-d330", hold="never")  # type: ignore[arg-type]


def test_what_no_engine_takes_is_an_error() -> None:
    asks: list[Callable[[], object]] = [
        lambda: hotlink.analyze("gige", nodes=8, method="formula", hash_seeds=4),
        lambda: hotlink.simulate("alltoall", fabric="eth-400g-leaf-spine", nodes=8, method="load", transport="swift"),
        lambda: hotlink.simulate("bcast", fabric="gige", nodes=4, links=True),
    ]
    for ask in asks:
        with pytest.raises(hotlink.InputError, match=r"hash_seeds|transport|links"):
            ask()


def test_numbers_say_what_is_wrong_with_them() -> None:
    whole: Any = 8.0
    assert len(hotlink.analyze("gige", nodes=whole, method="load")) == 1
    wrong: tuple[Any, ...] = (8.5, float("nan"), "x", object())
    for nodes in wrong:
        with pytest.raises(hotlink.InputError):
            hotlink.analyze("gige", nodes=nodes)
    with pytest.raises(hotlink.InputError, match="load: must be finite"):
        hotlink.simulate("traffic", fabric="gige", nodes=8, load=float("nan"))
    with pytest.raises(hotlink.InputError, match="fabrics: name one"):
        hotlink.compare([])
    found = hotlink.analyze("gige", nodes=8, method="load")
    with pytest.raises(hotlink.InputError, match="no record has nope"):
        found.where(nope=1)


def test_an_argument_that_is_nothing_readable_is_named() -> None:
    with pytest.raises(hotlink.InputError, match="fabric: b'ib-qdr': must be a number, a text"):
        hotlink.analyze(b"ib-qdr", nodes=4)  # type: ignore[arg-type]
