"""Every file of examples/ runs and gives what it promises (those of Rust are tests of `hotlink-study`)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def run(*words: str | Path, folder: Path, status: int = 0) -> str:
    done = subprocess.run([*words], cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == status, f"{words}\n{done.stdout}{done.stderr}"
    return done.stdout


def hotlink(*words: str | Path, folder: Path, status: int = 0) -> str:
    return run(sys.executable, "-m", "hotlink", *words, folder=folder, status=status)


def test_the_index_names_every_example() -> None:
    index = (EXAMPLES / "README.md").read_text()
    files = [file for file in EXAMPLES.glob("*/*") if "__pycache__" not in file.parts]
    assert len(files) >= 7
    assert not [file for file in files if f"`{file.relative_to(EXAMPLES)}`" not in index]


def test_the_files_that_a_new_developer_is_sent_to_exist() -> None:
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    named = re.findall(r"`((?:crates|catalog|web|tools|docs)/[^`*]*)`", guide)
    files = [name for name in named if "NAME" not in name and not name.startswith("web/dist")]
    assert len(files) >= 10
    assert not [name for name in files if not (ROOT / name).exists()]


def test_the_cheapest_network_that_suffices(tmp_path: Path) -> None:
    lines = run(sys.executable, EXAMPLES / "python/choose.py", folder=tmp_path).splitlines()
    costs = {name: float(cost) for name, _, _, cost, _ in (line.split() for line in lines[:-1])}
    rates = {name: float(rate) for name, rate, *_ in (line.split() for line in lines[:-1])}
    enough = [name for name, rate in rates.items() if rate >= 20_000]
    assert len(costs) == 4
    assert lines[-1] == f"choose {min(enough, key=costs.__getitem__)}"


def test_a_ring_here_and_on_a_simulated_network(tmp_path: Path) -> None:
    here, there = run(sys.executable, EXAMPLES / "python/ring.py", folder=tmp_path).splitlines()
    assert len(json.loads(here.split(": ")[1])) == 2
    times = json.loads(there.split(": ")[1])
    # 4 hops of 64 KiB over 50 GB/s take 5 us at the very least.
    assert len(times) == 4
    assert min(times) > 5


def test_a_barrier_in_c(tmp_path: Path) -> None:
    if not (compiler := shutil.which("cc")):
        pytest.skip("no C compiler")
    words: list[str | Path] = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I", ROOT / "plugins/barrier"]
    run(compiler, *words, EXAMPLES / "c/barrier.c", "-o", "barrier", folder=tmp_path)
    assert run(tmp_path / "barrier", folder=tmp_path) == "4 ranks met 1000 times, 0 failed\n"


def test_a_fabric_and_a_plan(tmp_path: Path) -> None:
    fabric = EXAMPLES / "toml/two-to-one.toml"
    hotlink("catalog", "check", fabric, folder=tmp_path)
    both = ["analyze", "--nodes", "512", "--method", "load", "--json"]
    own = json.loads(hotlink(*both, fabric, folder=tmp_path))["records"][0]
    named = json.loads(hotlink(*both, "eth-400g-leaf-spine:oversubscription=2:levels=2", folder=tmp_path))["records"][0]
    assert own["bandwidth_per_node_MBps"] == named["bandwidth_per_node_MBps"]
    records = json.loads(hotlink("sweep", EXAMPLES / "toml/growth.toml", "--json", folder=tmp_path))["records"]
    assert [record["study"] for record in records] == ["all-to-all"] * 8 + ["short messages"] * 4


def test_requirements_that_hold_and_that_do_not(tmp_path: Path) -> None:
    require: list[str | Path] = ["--require", EXAMPLES / "toml/acceptance.toml", "--out", "report.html"]
    for fabric, status in [("ib-ndr-fat-tree2", 0), ("ib-ndr-fat-tree2:oversubscription=2", 1)]:
        found = hotlink("analyze", fabric, "--nodes", "512", "--method", "load", "--json", folder=tmp_path)
        (tmp_path / "found.json").write_text(found)
        hotlink("report", "found.json", *require, folder=tmp_path, status=status)
