"""Other tools find their patterns in our text: those of ReFrame's and Ramble's OSU benchmarks."""

import json
import re
import subprocess
import sys
from pathlib import Path

import polars
import pytest

import hotlink


def osu(*words: str) -> str:
    command = [sys.executable, "-m", "hotlink", *words, "--format", "osu"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


# Ramble decides by the head of the columns which lines it looks for; here in its meaning, not in its words.
NUMBER = r"[0-9.]+"
RAMBLE = {
    r"#\s+Size\s+Latency \(us\)\s*$": rf"\s*[0-9]+\s+{NUMBER}\s*$",
    r"#\s+Size\s+Avg Latency\(us\)\s*$": rf"\s*[0-9]+\s+{NUMBER}\s*$",
    r"# Size\s+Bandwidth \(MB/s\)\s*$": rf"\s*[0-9]+\s+{NUMBER}\s*$",
    r"# Size\s+MB/s\s+Messages/s\s*$": rf"\s*[0-9]+\s+{NUMBER}\s+{NUMBER}\s*$",
    r"# Avg Latency\(us\)\s*$": rf"\s*{NUMBER}\s*$",
}

# What is measured, and the title that the OSU suite gives it.
MEASURED = {
    "pingpong": "MPI Latency",
    "stream --direction uni": "MPI Bandwidth",
    "stream --direction bi": "MPI Bi-Directional Bandwidth",
    "saturation --pairs 1": "MPI Multiple Bandwidth / Message Rate",
    "rate": "MPI Multiple Bandwidth / Message Rate",
    "barrier": "MPI Barrier Latency",
    "bcast": "MPI Broadcast Latency",
    "reduce": "MPI Reduce Latency",
    "allreduce": "MPI Allreduce Latency",
    "allgather": "MPI Allgather Latency",
    "gather": "MPI Gather Latency",
    "scatter": "MPI Scatter Latency",
    "alltoall": "MPI All-to-All Personalized Exchange Latency",
    "alltoallv": "MPI All-to-Allv Personalized Exchange Latency",
}


@pytest.mark.parametrize("benchmark", MEASURED)
def test_the_patterns_of_reframe_and_ramble_match(benchmark: str) -> None:
    text = osu("measure", *benchmark.split(), "--size", "8,64", "--time", "0.01")
    lines = text.splitlines()
    assert lines[0].startswith(f"# OSU {MEASURED[benchmark]} Test v"), text
    heads = [head for head in RAMBLE for line in lines if re.match(head, line)]
    assert len(heads) == 1, text
    rows = [line for line in lines if re.match(RAMBLE[heads[0]], line)]
    assert len(rows) == (1 if benchmark == "barrier" else 2), text
    assert re.search(r"# OSU.*Test v[0-9.]+", text)
    assert re.search(r"# Datatype: \S+\.", text)
    if benchmark != "barrier":
        # ReFrame: the first number after the size at the start of a line.
        found = re.search(r"^8\s+(\S+)", text, re.MULTILINE)
        assert found is not None
        assert float(found[1]) > 0


def test_simulations_have_the_form_too() -> None:
    text = osu("simulate", "pingpong", "--fabric", "myrinet-clos64", "--size", "8,4KiB")
    assert re.search(r"^4096\s+(\S+)", text, re.MULTILINE)


def test_parquet_keeps_every_record_and_where_it_came_from(tmp_path: Path) -> None:
    result = hotlink.run("measure", "memory", "--size", "64,4096", "--strides", "1", "--time", "0.01", "--raw")
    file = tmp_path / "m.parquet"
    result.to_parquet(file)
    frame = polars.read_parquet(file)
    assert frame.columns == list(result.columns())
    assert frame.to_dicts() == [{key: record.get(key) for key in frame.columns} for record in result]
    assert json.loads(polars.read_parquet_metadata(file)["hotlink.environment"])["cores"] >= 1
    assert [path.name for path in tmp_path.iterdir()] == ["m.parquet"]


def test_parquet_is_read_back_whole(tmp_path: Path) -> None:
    records = [
        {"benchmark": "pingpong", "samples": [1.5, 2.5], "n": 2, "id": "7.4", "oversubscribed": True},
        {"fabric": "x", "samples": 20, "id": 7, "n": 3},
    ]
    written = hotlink.Result(records, ["hotlink", "sweep"], {"host": "n1"}, "rank 1 died")  # type: ignore[arg-type]
    file = tmp_path / "mixed.parquet"
    written.to_parquet(file)
    assert hotlink.Result.load(file) == written
    polars.DataFrame({"a": [1]}).write_parquet(file)
    with pytest.raises(hotlink.InputError, match=r"no Parquet file of Result\.to_parquet"):
        hotlink.Result.load(file)
    file.write_text("text")
    with pytest.raises(hotlink.InputError, match="is no Parquet file"):
        hotlink.Result.load(file)
    with pytest.raises(hotlink.InputError, match="cannot be read"):
        hotlink.Result.load(tmp_path / "none.parquet")
