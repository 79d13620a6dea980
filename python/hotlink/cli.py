"""The installed ``hotlink`` command: the Rust command line, with plots added."""

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
    """Draw the plots of a result file into its folder. The command calls this for ``--out``."""
    try:
        from hotlink import plot
    except ModuleNotFoundError as error:
        raise RuntimeError(f"plots need {error.name}: pip install 'hotlink[plot]'") from None
    from hotlink.result import Result

    plot.save(Result.load(file).records, file.parent)
