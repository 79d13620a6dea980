#!/usr/bin/env python3
"""Synthesis of the barrier for iCE40: `make synth`. Writes synth/results.csv and prints it as a table.

For each P, the board module (hb_board, in pins.v) goes through yosys and nextpnr. It is one device while the package
has the pins, else the shallowest tree of devices that it takes. The delay op(P) is the proved bound in clocks times the
period, plus the pads passed. (In formal/f_latency.v the bound has a level that just misses an edge for each hop, since devices
have clocks of their own.) H06 (slide 23) measured 0.01 us x P.

The board whose ports select one of 2**11 groups by wires (hb_group_board, in group_pins.v) is synthesised on the HX8K:
synth/groups.csv (`synth.py --groups` makes that alone). It takes two clocks per arrival, H06's linear law, and the
synchroniser and filter before them.

The two-state machine alone (hb_celement, in gates.v) as gates of two inputs, before any FPGA: synth/gates.csv
(`synth.py --gates` makes that alone; it needs yosys only). H06 (slide 14) counts flip-flops and levels of gates.

It also writes the catalog's fabrics with this device, catalog/fabrics/hwbarr-*.toml: H06's cluster, o_p(P) from the
table (`synth.py --catalog` does that alone, from the committed table).
"""

import concurrent.futures
import csv
import json
import math
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = ROOT / "build" / "synth"
sys.path.insert(0, str(ROOT))
import catalog  # noqa: E402

STAGES = 2
# name, nextpnr options, user pins of the package, clock asked for in MHz
DEVICES = [("HX8K-CT256", ["--hx8k", "--package", "ct256"], 206, 250), ("UP5K-SG48", ["--up5k", "--package", "sg48"], 39, 60)]
OTHER_PINS = 9  # clock, pin_out, up_out, down_in, SPI, interrupt
RANKS = [4, 8, 16, 32, 64, 128, 256]
FILTERS = [3, 0]  # glitch filter: equal samples that make a level; 0: clean wires, synchroniser only
COLUMNS = ["fpga", "ranks", "filter_samples", "radix", "depth", "devices", "luts_per_device", "ffs_per_device",
           "clock_MHz", "pads_ns", "cycles", "op_us", "op_H06_us"]

GROUP_BITS = 11  # H06 slide 28
GROUP_PORTS = [4, 8, 12]  # more have no pins: each takes 13
GROUP_COLUMNS = ["fpga", "ports", "groups", "luts", "ffs", "block_rams", "clock_MHz", "pads_ns", "cycles", "op_us", "op_H06_us"]

GATE_RANKS = [2, 3, 4, 5, 8, 16, 31, 64, 256, 1024]
GATES = {"ffs": "$_DFF_P_", "ands": "$_AND_", "ors": "$_OR_", "muxes": "$_MUX_"}


def command(arguments):
    done = subprocess.run(arguments, cwd=BUILD, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise SystemExit(f"synth.py: {arguments[0]} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def path_ns(report, kind):
    """The longest path of a kind (`in`: pad to register, `out`: register to pad), in ns."""
    ends = {"in": lambda p: p["from"].startswith("<async>") and p["to"].startswith("posedge"),
            "out": lambda p: p["from"].startswith("posedge") and p["to"].startswith("<async>")}[kind]
    return max((sum(hop["delay"] for hop in p["path"]) for p in report["critical_paths"] if ends(p)), default=0.0)


def implement(job):
    """One device of `radix` children: (LUTs, flip-flops, MHz, pad delays in ns)."""
    device, radix, samples, root = job
    parameters = {"P": radix, "ROOT": root, "STAGES": STAGES, "SAMPLES": samples}
    cells, clock, pads_ns = place("pins", parameters, device, f"{device[0]}-{radix}-{samples}-{root}")
    return cells["SB_LUT4"], flip_flops(cells), clock, pads_ns


def flip_flops(cells):
    return sum(count for cell, count in cells.items() if cell.startswith("SB_DFF"))


def place(top, parameters, device, tag):
    """A module through yosys and nextpnr: (cells by kind, MHz, pad delays in ns)."""
    name, options, _, target_MHz = device
    # Modules that are read but not used move the placement: each top gets its own files.
    unused = ("hb_tree", "hb_board", "hb_device", "hb_regs", "hb_node", "hb_arm", "hb_celement")
    wanted = {"pins": lambda stem: not stem.startswith("hb_group"), "group_pins": lambda stem: stem not in unused}[top]
    files = [*(f for f in sorted((ROOT / "src").glob("hb_*.v")) if wanted(f.stem)), HERE / f"{top}.v"]
    sources = " ".join(str(f) for f in files)
    values = " ".join(f"-set {key} {value}" for key, value in parameters.items())
    command(["yosys", "-q", "-p", f"read_verilog {sources}; chparam {values} {top}; "
             f"synth_ice40 -top {top} -json {tag}.json; tee -o {tag}.stat stat"])
    command(["nextpnr-ice40", *options, "--json", f"{tag}.json", "--freq", str(target_MHz), "--seed", "1", "-q",
             "--report", f"{tag}.report", "--timing-allow-fail"])
    cells = {w[0]: int(w[1]) for w in map(str.split, (BUILD / f"{tag}.stat").read_text().splitlines())
             if len(w) == 2 and w[0].startswith("SB_")}
    report = json.loads((BUILD / f"{tag}.report").read_text())
    clock = min(f["achieved"] for f in report["fmax"].values())
    return cells, clock, path_ns(report, "in") + path_ns(report, "out")


def groups(ports):
    """A row of groups.csv: the board with 2**GROUP_BITS groups on the first device, with its glitch filter."""
    parameters = {"P": ports, "BITS": GROUP_BITS, "STAGES": STAGES, "SAMPLES": FILTERS[0]}
    cells, clock, pads_ns = place("group_pins", parameters, DEVICES[0], f"groups-{ports}")
    cycles = STAGES + FILTERS[0] + 2 * ports  # the last of P arrivals that come together (f_group_device.v has the bound)
    op_us = (cycles * 1000 / clock + pads_ns) / 1000
    return dict(zip(GROUP_COLUMNS, [DEVICES[0][0], ports, 2**GROUP_BITS, cells["SB_LUT4"], flip_flops(cells),
                                    cells["SB_RAM40_4K"], f"{clock:.1f}", f"{pads_ns:.1f}", cycles, f"{op_us:.4f}",
                                    f"{0.01 * ports:.2f}"]))


def gates(ranks):
    """A row of gates.csv: cells of the two-state machine and the longest path of gates between registers or pins."""
    tag = f"gates-{ranks}"
    command(["yosys", "-q", "-p", f"read_verilog {ROOT / 'src' / 'hb_celement.v'} {HERE / 'gates.v'}; "
             f"chparam -set P {ranks} gates; synth -flatten -top gates -run begin:fine; simplemap; opt -full; clean; "
             f"tee -o {tag}.stat stat; tee -o {tag}.path ltp -noff"])
    cells = {w[0]: int(w[1]) for w in map(str.split, (BUILD / f"{tag}.stat").read_text().splitlines())
             if len(w) == 2 and w[0].startswith("$")}
    if unknown := set(cells) - set(GATES.values()):
        raise SystemExit(f"synth.py: the two-state machine of {ranks} has {', '.join(sorted(unknown))}")
    levels = (BUILD / f"{tag}.path").read_text().split("(length=")[1].split(")")[0]
    return {"ranks": ranks, **{name: cells.get(cell, 0) for name, cell in GATES.items()}, "levels": levels}


def write_gates():
    write_table("gates.csv", ["ranks", *GATES, "levels"], [gates(ranks) for ranks in GATE_RANKS])


def shape(ranks, pins):
    """(radix, depth) of the shallowest tree whose devices have the pins."""
    depth = 1
    while (radix := math.ceil(round(ranks ** (1 / depth), 9))) + OTHER_PINS > pins:
        depth += 1
    return radix, depth


def row(device, ranks, samples, built):
    radix, depth = shape(ranks, device[2])
    parts = [built[device[0], radix, samples, root] for root in ([1] if depth == 1 else [0, 1])]
    luts, ffs, pads_ns = (max(p[k] for p in parts) for k in (0, 1, 3))
    clock = min(p[2] for p in parts)
    hops = 2 * depth - 1
    cycles = hops * (STAGES + samples + 1)
    devices = sum(math.ceil(ranks / radix**k) for k in range(1, depth + 1))
    op_us = (cycles * 1000 / clock + hops * pads_ns) / 1000
    return dict(zip(COLUMNS, [device[0], ranks, samples, radix, depth, devices, luts, ffs, f"{clock:.1f}", f"{pads_ns:.1f}",
                              cycles, f"{op_us:.4f}", f"{0.01 * ranks:.2f}"]))


SOURCE = "rtl/barrier/synth/results.csv: static timing of yosys and nextpnr, {fpga}, {devices} device{s} of {radix}, filter of {filter_samples}"
SHAPE = "one device while the package has the pins, else a tree of devices"


def write_catalog(rows):
    """One fabric for each FPGA, with its glitch filter in."""
    for fpga, _, _, _ in DEVICES:
        mine = [r for r in rows if r["fpga"] == fpga and int(r["filter_samples"]) == FILTERS[0]]
        values = []
        for r in mine:
            source = SOURCE.format(**r, s="" if int(r["devices"]) == 1 else "s")
            early = 1000 / float(r["clock_MHz"]) * (2 * int(r["depth"]) - 1)  # a clock for each hop
            values.append((int(r["ranks"]), float(r["op_us"]) * 1000, early, source))
        catalog.write(fpga.split("-")[0].lower(), f"an iCE40 {fpga}", "synth", "rtl/barrier/synth/results.csv", SHAPE, values)


def main():
    if sys.argv[1:] == ["--catalog"]:
        with (HERE / "results.csv").open(newline="") as table:
            write_catalog(list(csv.DictReader(table)))
        return 0
    if sys.argv[1:] == ["--groups"]:
        BUILD.mkdir(parents=True, exist_ok=True)
        write_table("groups.csv", GROUP_COLUMNS, [groups(ports) for ports in GROUP_PORTS])
        return 0
    BUILD.mkdir(parents=True, exist_ok=True)
    write_gates()
    if sys.argv[1:] == ["--gates"]:
        return 0
    jobs = {}
    for device in DEVICES:
        for ranks in RANKS:
            radix, depth = shape(ranks, device[2])
            for samples in FILTERS:
                for root in [1] if depth == 1 else [0, 1]:
                    jobs[device[0], radix, samples, root] = (device, radix, samples, root)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        built = dict(zip(jobs, pool.map(implement, jobs.values())))
    rows = [row(d, p, f, built) for d in DEVICES for f in FILTERS for p in RANKS]
    write_table("results.csv", COLUMNS, rows)
    write_catalog(rows)
    write_table("groups.csv", GROUP_COLUMNS, [groups(ports) for ports in GROUP_PORTS])
    return 0


def write_table(name, columns, rows):
    """Writes a table and prints it."""
    with (HERE / name).open("w", newline="") as out:
        writer = csv.DictWriter(out, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    widths = {c: max(len(c), *(len(str(r[c])) for r in rows)) for c in columns}
    for line in [dict(zip(columns, columns)), *rows]:
        print("  ".join(str(line[c]).rjust(widths[c]) for c in columns))


if __name__ == "__main__":
    sys.exit(main())
