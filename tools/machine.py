"""The states of a machine.

Virtual processors are threads of one core in one minute, cores with a cache in common in the next, and far apart in a
third: three machines. The time in which a cache line goes from one processor to the other tells them apart.
"""

import json
import subprocess

SAME = 1.35
"""Hand-offs that are less than this factor apart are of one state."""


def hand_off(command: list[str]) -> float:
    """Microseconds in which a cache line goes from one processor to the other: the bound of a short message.

    `command` is hotlink, and what stands before it.
    """
    line = "measure pingpong --via shm --size 8 --time 0.001 --json"
    done = subprocess.run([*command, *line.split()], check=True, capture_output=True, text=True, timeout=60)
    return float(json.loads(done.stdout)["records"][0]["bound_latency_us"])


def is_same(a: float, b: float) -> bool:
    """Whether hand-offs of so many microseconds are of one state."""
    return 1 / SAME <= a / b <= SAME
