"""The installed ``hotlink`` command: the Rust command line, with plots added."""

import json
import signal
import sys
from pathlib import Path

from hotlink import _core


def main() -> int:
    """Run the command line and return its exit status."""
    # While Rust computes, Python would not see the keyboard: let the system end the process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.main(sys.argv, draw_beside)


def draw_beside(file: Path) -> None:
    """Draw the pictures of a result file: one with a choice of its own, else those of a comparison or design in it."""
    try:
        from hotlink import curves, front, plot
    except ModuleNotFoundError as error:
        raise RuntimeError(f"plots need {error.name}: pip install matplotlib") from None
    from hotlink.result import Result

    result = Result.load(file)
    if asked := json.loads(file.read_text(encoding="utf-8")).get("plot"):
        look = curves.Look(asked["title"], asked["note"], asked["panels"])
        curves.save(result.records, Path(asked["out"]), asked["x"], asked["y"], asked["facet"], look)
    elif any(record.get("benchmark") == "design" for record in result.records):
        front.save(result.records, file.parent)
    else:
        plot.save(result.records, file.parent)
