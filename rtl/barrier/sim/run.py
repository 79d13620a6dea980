"""Builds and runs the cocotb benches with Icarus: `make sim`. The seed is fixed (--seed for another) and printed."""

import argparse
import os
import pathlib
import sys
import time
import xml.etree.ElementTree

from cocotb_tools.runner import get_runner

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = sorted((HERE.parent / "src").glob("hb_*.v"))
BUILD = HERE.parent / "build" / "sim"

# name, Verilog parameters, barriers, chance of a glitch per rank and clock
TREES = [
    ("4 ranks, one device", {"RADIX": 4, "DEPTH": 1}, 60, 0.05),
    ("8 ranks, radix 2", {"RADIX": 2, "DEPTH": 3}, 40, 0.05),
    ("16 ranks, radix 4", {"RADIX": 4, "DEPTH": 2}, 30, 0.02),
    ("64 ranks, one device", {"RADIX": 64, "DEPTH": 1}, 12, 0.01),
    ("64 ranks, radix 4", {"RADIX": 4, "DEPTH": 3}, 12, 0.01),
    ("256 ranks, radix 4", {"RADIX": 4, "DEPTH": 4}, 6, 0.005),
    ("256 ranks, radix 16, no glitches", {"RADIX": 16, "DEPTH": 2}, 6, 0.0),
]
# ports, wires that select a group, barriers
GROUPS = [(4, 11, 300), (16, 11, 200), (3, 1, 300)]
DEVICES = [
    ("guarded", {"P": 6, "B": 3, "BUS_PORTS": 3}, 40),
    ("bare", {"P": 4, "B": 1, "ARM": 0}, 1),
    ("guarded-pins", {"P": 4, "B": 1}, 1),
]


def run(name, top, bench, parameters, settings):
    runner = get_runner("icarus")
    folder = BUILD / name.replace(" ", "_").replace(",", "")
    runner.build(sources=SOURCES, hdl_toplevel=top, parameters=parameters, build_dir=folder,
                 build_args=["-g2005"], timescale=("1ps", "1ps"),
                 always=True, log_file=folder / "build.log")
    environment = {f"HB_{key}": str(value) for key, value in settings.items()}
    results = runner.test(hdl_toplevel=top, test_module=bench, test_dir=HERE, build_dir=folder, parameters=parameters,
                          extra_env=environment, results_xml=str(folder / "results.xml"), log_file=folder / "test.log")
    cases = xml.etree.ElementTree.parse(results).getroot().findall(".//testcase")
    bad = [c.get("name") for c in cases if c.find("failure") is not None or c.find("error") is not None]
    ran = sum(c.find("skipped") is None for c in cases)
    log = (folder / "test.log").read_text()
    for line in log.splitlines():
        if "seed " in line:
            print("      " + line[line.index("seed "):])
    if bad or ran == 0:
        print(log)
    return ran, bad


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    sys.path.insert(0, str(HERE))
    os.environ["PYTHONPATH"] = str(HERE)
    jobs = [(f"tree: {name}", "hb_tree", "bench_tree", parameters, {"BARRIERS": n, "GLITCHES": g})
            for name, parameters, n, g in TREES]
    jobs += [(f"device: {name}", "hb_device", "bench_device", parameters, {"BARRIERS": n, "CONFIG": name})
             for name, parameters, n in DEVICES]
    jobs += [(f"groups: {p} ports, {2**bits} groups", "hb_groups", "bench_groups", {"P": p, "BITS": bits},
              {"BARRIERS": n}) for p, bits, n in GROUPS]
    jobs += [("board: 4 nodes over SPI and wires", "hb_board", "bench_board", {"P": 4}, {})]
    print(f"seed {args.seed} (repeat with --seed {args.seed})")
    failed = 0
    for name, top, bench, parameters, settings in jobs:
        begin = time.monotonic()
        ran, bad = run(name.replace(": ", "_"), top, bench, parameters, {"SEED": args.seed, **settings})
        good = ran > 0 and not bad
        failed += not good
        note = f"{ran} tests" if good else f"failed: {', '.join(bad) or 'nothing ran'}"
        print(f"{'ok  ' if good else 'FAIL'} {name:45} {note}, {time.monotonic() - begin:.1f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
