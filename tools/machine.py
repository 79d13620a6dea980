"""The states of a machine.

Virtual processors are threads of one core in one minute, cores with a common cache in the next, and far apart in a
third. These are three machines. The time in which a cache line goes from one processor to the other tells them apart.
"""

import dataclasses
import json
import os
import platform
import subprocess
import sys
import time
import typing

TOLD_S = 30
"""From one line of progress to the next where there is no terminal."""

SAME = 1.35
"""Hand-offs that are less than this factor apart are of one state."""

T = typing.TypeVar("T")


def about() -> str:
    """Which machine this is: processor, cores, kernel."""
    try:
        with open("/proc/cpuinfo") as processors:
            models = [line.split(":", 1)[1].strip() for line in processors if line.startswith("model name")]
    except OSError:
        models = []
    return f"{models[0] if models else platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}"


def hand_off(command: list[str]) -> float:
    """Microseconds in which a cache line goes from one processor to the other: the bound of a short message.

    `command` is hotlink, with the words before it.
    """
    line = "measure pingpong --via shm --size 8 --time 0.001 --json"
    done = subprocess.run([*command, *line.split()], check=True, capture_output=True, text=True, timeout=60)
    return float(json.loads(done.stdout)["records"][0]["bound_latency_us"])


def is_same(one: float, other: float) -> bool:
    """Whether two hand-offs are of one state."""
    return 1 / SAME <= other / one <= SAME


@dataclasses.dataclass
class Run:
    """A way through all steps in one state: the hand-off when it began, and how many steps are taken."""

    number: int
    first: float
    taken: int = 0
    moved: int = 0
    """Steps of it during which the machine was in another state after all."""

    def is_of(self, us: float) -> bool:
        """Whether a hand-off in microseconds is of its state."""
        return is_same(self.first, us)


class Machine:
    """A machine whose state `hand_off` gives, in microseconds."""

    def __init__(self, hand_off: typing.Callable[[], float]) -> None:
        self.hand_off = hand_off
        self.again = 0
        """How many steps were taken again."""

    def go_through(self, steps: list[tuple[str, typing.Callable[[], T]]], runs: int) -> typing.Iterator[tuple[Run, T]]:
        """Takes the named steps in their order until so many runs are whole; returns the result of each, and its run.

        Each state has runs of its own, and a step during which it changed is taken again: not more often than there are
        steps. A machine that changes faster is measured as it is. From then on the run that is furthest takes each
        step, and counts those in which the machine moved.
        """
        begun: list[Run] = []
        now, since, kept, again = self.hand_off(), time.monotonic(), 0, 0
        told = since
        while (whole := sum(run.taken == len(steps) for run in begun)) < runs:
            spent = again >= runs * len(steps)
            left_over = [run for run in begun if run.taken < len(steps) and (spent or run.is_of(now))]
            run = max(left_over, key=lambda run: run.taken, default=None)
            if run is None:
                run = Run(len(begun), now)
                begun.append(run)
            name, step = steps[run.taken]
            # Runs of other states that do not end are not foreseen.
            left = (time.monotonic() - since) / max(kept, 1) * max(len(steps) - run.taken, 1) / 60
            progress = f"{whole} of {runs} runs, {left:.0f} min left: {name}"
            if kept and sys.stderr.isatty():
                print(f"\r{progress:<80.80}", end="", file=sys.stderr)
            elif kept and time.monotonic() - told > TOLD_S:
                told = time.monotonic()
                print(progress, file=sys.stderr, flush=True)
            result, before = step(), now
            now = self.hand_off()
            moves = not run.is_of(before) or not run.is_of(now)
            if moves and not spent:
                again += 1
                self.again += 1
                continue
            run.moved += moves
            run.taken += 1
            kept += 1
            yield run, result
        if sys.stderr.isatty():
            print(file=sys.stderr)
