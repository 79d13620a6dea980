"""`tools/published-transports`: predictions made before their data were entered still come out."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools/published-transports"
COMMAND = os.environ.get("HOTLINK_TEST_COMMAND", str(ROOT / "target/release/hotlink"))
QUICK = ("hpcc-2-flows", "dctcp-2-flows")

pytestmark = pytest.mark.skipif(not Path(COMMAND).exists(), reason=f"{COMMAND} is not built")


def run(tool: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(tool / "run"), COMMAND, "--only", *QUICK]
    return subprocess.run(words, capture_output=True, text=True, timeout=120)


def test_quick_predictions_are_reproduced_to_the_digit() -> None:
    done = run(TOOL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 of 6 values are those of predictions.csv" in done.stdout
    assert "| 36,685 / 35,670 us | 36,683 / 34,202 us | -0.0 %, -4.1 % | after |" in done.stdout


def test_a_value_that_was_not_predicted_is_told(tmp_path: Path) -> None:
    tool = Path(shutil.copytree(TOOL, tmp_path / "tool"))
    predictions = tool / "predictions.csv"
    predictions.write_text(
        predictions.read_text().replace("hpcc-2-flows,last_us,36683.36", "hpcc-2-flows,last_us,36683.37")
    )
    done = run(tool)
    assert done.returncode == 1
    assert "hpcc-2-flows last_us: 36683.37 was predicted, now 36683.36" in done.stdout
