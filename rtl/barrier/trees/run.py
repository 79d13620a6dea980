#!/usr/bin/env python3
"""Trees of the reference boards at register level, 2 to 1,024 nodes: `make trees`.

The boards are those of boards/results.csv, with their clocks and pads; each has an oscillator of its own. The times go to
trees/results.csv, beside which stands what the catalog's closed form says (crates/barrier/tests/networks.rs holds the two
together). The seed is fixed, so that a change of the Verilog shows as a difference: --check compares and writes nothing.
"""

import argparse
import csv
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = ROOT / "build" / "trees"
TABLE = HERE / "results.csv"
SIZES = [2**k for k in range(1, 11)]
CABLE_PS = 5000  # a metre
BARRIERS, SEED = 64, 1
COLUMNS = ["board", "nodes", "levels", "boards", "op_min_ns", "op_median_ns", "op_max_ns"]


def command(*arguments):
    done = subprocess.run(list(map(str, arguments)), cwd=BUILD, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise SystemExit(f"trees: {arguments[0]} failed:\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def translated(ports):
    """The program for boards of that many ports; made anew where a source is newer."""
    program = BUILD / f"trees-{ports}"
    sources = [*sorted((ROOT / "src").glob("hb_*.v")), ROOT / "boards" / "board.v"]
    newest = max(path.stat().st_mtime for path in [*sources, HERE / "trees.cpp"])
    if program.exists() and program.stat().st_mtime > newest:
        return program
    for root, name in enumerate(("Vinner", "Vroot")):
        (BUILD / str(ports) / name).mkdir(parents=True, exist_ok=True)
        command("verilator", "--cc", "-O3", "--top-module", "board", f"-GN={ports}", f"-GROOT={root}", "--prefix", name,
                "--Mdir", f"{ports}/{name}", *sources)
        command("make", "-s", "-C", f"{ports}/{name}", "-f", f"{name}.mk", "OPT_FAST=-O1", f"{name}__ALL.a", "verilated.o",
                "verilated_threads.o")
    verilator = command("verilator", "--getenv", "VERILATOR_ROOT").strip()
    parts = [f"{ports}/Vinner/Vinner__ALL.a", f"{ports}/Vroot/Vroot__ALL.a", f"{ports}/Vroot/verilated.o",
             f"{ports}/Vroot/verilated_threads.o"]
    command("g++", "-std=c++17", "-O2", "-Wall", "-Wextra", f"-I{ports}/Vinner", f"-I{ports}/Vroot", f"-isystem{verilator}/include",
            HERE / "trees.cpp", *parts, "-o", program, "-pthread")
    return program


def rows(board):
    ports = int(board["nodes"])
    period_ps, pads_ps = round(1e6 / float(board["clock_MHz"])), round(float(board["pads_ns"]) * 1e3)
    out = command(translated(ports), ports, period_ps, pads_ps, CABLE_PS, BARRIERS, SEED, *SIZES)
    for line in out.splitlines():
        nodes, levels, boards, *times_ps = line.split()
        yield [board["board"], nodes, levels, boards, *(f"{int(t) / 1e3:.1f}" for t in times_ps)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the table instead of writing it")
    args = parser.parse_args()
    with (ROOT / "boards" / "results.csv").open(newline="") as file:
        made = [COLUMNS, *(row for board in csv.DictReader(file) for row in rows(board))]
    if args.check:
        with TABLE.open(newline="") as file:
            if list(csv.reader(file)) != made:
                raise SystemExit("trees: the times differ from trees/results.csv; `make trees` writes it anew")
        print(f"trees: {len(made) - 1} trees of boards as in the table, none released early")
        return 0
    with TABLE.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(made)
    for row in made:
        print("".join(f"{cell:>13}" for cell in row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
