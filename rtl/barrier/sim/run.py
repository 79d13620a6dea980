"""Builds and runs the cocotb benches with Icarus: `make sim`. The seed is fixed (--seed for another) and printed."""

import argparse
import concurrent.futures
import contextlib
import io
import os
import pathlib
import re
import subprocess
import sys
import time
import xml.etree.ElementTree

import replay
from cocotb_tools.runner import get_runner

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = [*sorted((HERE.parent / "src").glob("hb_*.v")), HERE / "boards.v",
           HERE.parent / "boards" / "board.v"]
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
# parameters of a device that is held to the model, clocks
MODELS = [
    ("root", {"P": 6, "B": 3, "BUS_PORTS": 3}, 3000),
    ("inner", {"P": 4, "B": 2, "ROOT": 0, "BUS_PORTS": 1}, 3000),
    ("inner and bare", {"P": 3, "B": 1, "ROOT": 0, "ARM": 0, "STAGES": 3, "SAMPLES": 0}, 2000),
    ("256 ports, inner", {"P": 256, "B": 1, "ROOT": 0, "STAGES": 2, "SAMPLES": 1, "BUS_PORTS": 7 << 60}, 1500),
    ("32 barriers", {"P": 3, "B": 32, "STAGES": 1, "SAMPLES": 2, "BUS_PORTS": 2}, 1000),
    ("40 ports", {"P": 40, "B": 2, "SAMPLES": 4, "BUS_PORTS": 1 << 39 | 1 << 17}, 1000),
]
# modules that are held to a model: name, top, parameters, clocks
PARTS = [
    ("groups: as the model, 3 ports, 4 groups", "groups", "hb_groups", {"P": 3, "BITS": 2}, 4000),
    ("groups: as the model, 5 ports, 2 groups", "groups", "hb_groups", {"P": 5, "BITS": 1}, 3000),
    ("group device: as the model, 3 ports", "group_device", "hb_group_device", {"P": 3, "BITS": 2}, 5000),
    ("group device: as the model, 2 ports, no filter", "group_device", "hb_group_device",
     {"P": 2, "BITS": 1, "STAGES": 3, "SAMPLES": 0}, 3000),
    ("spi: as the model", "spi", "hb_spi", {}, 12000),
]
BOARDS = [
    ("4 nodes over SPI and wires", "one", "hb_board", {"P": 4}),
    ("any SPI frame", "registers", "hb_board", {"P": 32, "B": 1, "ROOT": 0}),
    ("4 nodes that select one of 2048 groups", "groups", "hb_group_board", {"P": 4, "BITS": 11}),
    ("3 boards, 3 clocks", "tree", "boards", {"P": 2, "B": 2, "INNER": 2}),
    ("a clock that is not steady at first", "locked", "board", {"N": 3}),
]


def run(name, top, bench, parameters, settings, sources=SOURCES, build=BUILD, quiet=False):
    """(tests that ran, those that failed)."""
    folder = build / re.sub(r"\W+", "_", name)
    if bench == "replay":
        return play(folder, parameters, settings, sources, quiet)
    runner = get_runner("icarus")
    runner.build(sources=sources, hdl_toplevel=top, parameters=parameters, build_dir=folder,
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


def play(folder, parameters, settings, sources, quiet):
    """A device against the model's trace. Needs no cocotb, so that the mutants meet it first."""
    folder.mkdir(parents=True, exist_ok=True)
    lines, program = folder / "lines.hex", folder / "replay.vvp"
    text, note = replay.vectors(tuple(parameters.items()), settings["SEED"], settings["CLOCKS"])
    lines.write_text("\n".join(text) + "\n")
    chosen = [f"-Preplay.{name}={value}" for name, value in {**parameters, "CLOCKS": settings["CLOCKS"]}.items()]
    built = subprocess.run(["iverilog", "-g2005", "-s", "replay", *chosen, "-o", program, *sources, HERE / "replay.v"],
                           capture_output=True, text=True, timeout=60)
    if built.returncode != 0:
        return 1, [built.stderr.strip()]
    out = subprocess.run(["vvp", program, f"+lines={lines}"], capture_output=True, text=True, timeout=60).stdout.strip()
    if out != "as the model":
        return 1, [out]
    if not quiet:
        print(f"      seed {settings['SEED']}: {note}")
    return 1, []


def jobs():
    """(name, top, bench, parameters, settings) of each bench."""
    yield from ((f"tree: {name}", "hb_tree", "bench_tree", parameters, {"BARRIERS": n, "GLITCHES": g})
                for name, parameters, n, g in TREES)
    yield from ((f"device: {name}", "hb_device", "bench_device", parameters, {"BARRIERS": n, "CONFIG": name})
                for name, parameters, n in DEVICES)
    yield from ((f"model: {name}", "replay", "replay", parameters, {"CLOCKS": n})
                for name, parameters, n in MODELS)
    yield from ((f"groups: {p} ports, {2**bits} groups", "hb_groups", "bench_groups", {"P": p, "BITS": bits},
                 {"BARRIERS": n}) for p, bits, n in GROUPS)
    yield from ((name, top, "bench_parts", parameters, {"CLOCKS": n, "CONFIG": config})
                for name, config, top, parameters, n in PARTS)
    yield from ((f"board: {name}", top, "bench_board", parameters, {"CONFIG": config})
                for name, config, top, parameters in BOARDS)


def judged(job):
    """(whether it is good, the text to print); in a process of its own, since cocotb's runner keeps its settings in
    one."""
    seed, (name, top, bench, parameters, settings) = job
    begin, said = time.monotonic(), io.StringIO()
    with contextlib.redirect_stdout(said):
        ran, bad = run(name, top, bench, parameters, {"SEED": seed, **settings})
    good = ran > 0 and not bad
    note = f"{ran} tests" if good else f"failed: {', '.join(bad) or 'nothing ran'}"
    return good, f"{said.getvalue()}{'ok  ' if good else 'FAIL'} {name:45} {note}, {time.monotonic() - begin:.1f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="run the benches whose name contains this text")
    parser.add_argument("--jobs", type=int, default=2, help="benches at a time")
    args = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    os.environ["PYTHONPATH"] = str(HERE)
    print(f"seed {args.seed} (repeat with --seed {args.seed})", flush=True)
    chosen = [(args.seed, job) for job in jobs() if args.only in job[0]]
    failed = 0
    with concurrent.futures.ProcessPoolExecutor(args.jobs) as pool:
        for good, text in pool.map(judged, chosen):
            failed += not good
            print(text, flush=True)
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
