#!/usr/bin/env python3
"""Proofs of the barrier's RTL: `make prove`.

Each job is one harness of formal/ put through yosys, and a verdict that it must have:

    proved   the property holds in every reachable state (PDR, or k-induction by an SMT solver)
    cex N    a counterexample exists, the shortest N clocks long (N = None: of any length)

Mutants are textual edits of the RTL that break the barrier; the same proofs must then find a counterexample. Covers
assert that something does *not* happen and must fail, which shows that the proofs are not vacuous. Exit status 1 if any
verdict differs. Needs yosys (with yosys-abc, yosys-smtbmc) and z3; no Python packages.
"""

import argparse
import concurrent.futures
import dataclasses
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE / "build" / "prove"
LIMIT_S = 600  # against hangs alone: the longest job takes 15 s on an idle machine and took 100 on one of load 10


@dataclasses.dataclass(frozen=True)
class Job:
    name: str
    top: str
    params: str = ""
    engine: str = "pdr"  # pdr | bmc | induction | any state
    cover: bool = False
    mutant: tuple = ()  # (file, old text, new text); no old text: the whole file anew
    expect: str = "proved"  # proved | cex
    depth: int | None = None  # the shortest counterexample, where it is pinned
    frames: int = 60  # clocks that a bounded search looks ahead
    limit_s: int = LIMIT_S
    larger: bool = False  # the same as another job, of more ports: --quick leaves it out


PROOFS = [
    Job("tree of three devices, P = 4", "f_tree"),  # the longest first, so that the rest packs beside it
    # The contract of one node (what trees are composed from), and of the wires between nodes.
    *[Job(f"node contract, P = {p}", "f_node", f"P={p}", "induction", larger=p > 16) for p in (2, 4, 16, 32)],
    Job("node contract, P = 8, by PDR", "f_node", "P=8"),
    Job("slow wires keep the contract", "f_link"),
    *[Job(f"synchroniser and filter, {s} + {f}", "f_wire", f"STAGES={s} SAMPLES={f}") for s, f in ((1, 1), (2, 2), (2, 3))],
    # Whole systems, software ranks and slow wires included.
    Job("one device, guarded start, P = 2", "f_flat", "P=2 START=2"),
    Job("one device, guarded start, P = 4", "f_flat", "P=4 START=2", larger=True),
    Job("one device, write-back + outside sync, P = 3", "f_flat", "P=3 START=1"),
    *[Job(f"device, {'root' if root else 'inner'}{', after a reset' if reset else ''}", "f_device", f"ROOT={root} RESET={reset}")
      for root in (0, 1) for reset in (0, 1)],
    *[Job(f"device, {'root' if root else 'inner'}, released in time", "f_device", f"ROOT={root} LIVE=1") for root in (0, 1)],
    *[Job(f"a reset reaches everything, {'root' if root else 'inner'}", "f_reset", f"ROOT={root}") for root in (0, 1)],
    # Registers and interrupts for any port of any barrier, from any state.
    *[Job(f"registers, {p} ports, {b} barriers", "f_regs", f"P={p} B={b} ROOT={p & 1} ARM={b & 1}", "any state", frames=3)
      for p, b in ((2, 1), (2, 32), (34, 2))],
    Job("interrupts", "f_irq", "B=32", "any state", frames=4),
    Job("selected groups, P = 2", "f_groups", "P=2"),
    Job("selected groups, P = 3", "f_groups", "P=3", larger=True),
    Job("selected groups from power-on and resets", "f_groups_start"),
    Job("device of selected groups", "f_group_device"),
    Job("registers of selected groups, 5 ports, 8 groups", "f_group_regs", "", "any state", frames=3),
    Job("registers of selected groups, 32 ports, 2048 groups", "f_group_regs", "P=32 BITS=11", "any state", frames=3),
    Job("barriers are independent, inner node", "f_independent", "ROOT=0"),
    Job("barriers are independent, root", "f_independent", "ROOT=1"),
    # Release within a bounded number of clocks, end to end; and the bound is tight.
    Job("latency bound, one device, P = 8", "f_latency", "RADIX=8 DEPTH=1"),
    Job("latency bound, tree 2 x 2", "f_latency", "RADIX=2 DEPTH=2"),
    Job("latency bound, tree 2 x 2 x 2", "f_latency", "RADIX=2 DEPTH=3 STAGES=1 SAMPLES=0"),
    Job("latency bound less one clock fails", "f_latency", "RADIX=2 DEPTH=2 SLACK=1", "bmc", expect="cex"),
]

REGRESSIONS = [
    Job("H06 as printed, stale pin: released early", "f_flat", "P=2 START=0", "bmc", expect="cex", depth=6),
    Job("write-back without outside sync: early", "f_flat", "P=2 START=3", "bmc", expect="cex"),
]

COVERS = [
    Job(f"cover {top} {params}".strip(), top, params, "bmc", cover=True, expect="cex")
    for top, params in (("f_node", "P=4"), ("f_link", ""), ("f_wire", ""), ("f_flat", "P=4 START=2"),
                        ("f_flat", "P=3 START=1"), ("f_tree", ""), ("f_device", "ROOT=0"), ("f_device", "ROOT=1"), ("f_reset", ""), ("f_regs", "P=34 B=1"), ("f_irq", ""), ("f_independent", ""), ("f_groups", "P=3"),
                        ("f_groups_start", ""), ("f_group_device", ""), ("f_group_regs", ""))
]

FLAT, NODE, TREE = ("f_flat", "P=3 START=2"), ("f_node", "P=4"), ("f_tree", "STAGGERED=1")
WHOLE = (FLAT, NODE, TREE)
MUTANTS = [
    # (what is broken, file, old, new, harnesses that must see it)
    ("one input ignored", "hb_celement.v", "&(in | ~member)", "&(in[P-1:1] | ~member[P-1:1])", WHOLE),
    ("first arrival releases, rising", "hb_celement.v", "all_one = &(in | ~member)", "all_one = |(in & member)", WHOLE),
    ("first arrival releases, falling", "hb_celement.v", "any_one = |(in", "any_one = &(in", WHOLE),
    ("falling phase sees outsiders only", "hb_celement.v", "|(in & member)", "|(in & ~member)", WHOLE),
    ("mask ignored, rising", "hb_celement.v", "&(in | ~member)", "&(in | {P{1'b1}})", WHOLE),
    ("guard believes every level", "hb_arm.v", "assign qualified = (level & armed_reg) | ({P{idle}} & ~armed_reg)", "assign qualified = level", WHOLE),
    ("guard arms at once", "hb_arm.v", "armed_reg | (level ~^ {P{idle}})", "armed_reg | {P{1'b1}}", WHOLE),
    ("guard survives a start", "hb_arm.v", "if (rst || start)", "if (rst)", WHOLE),
    ("guard arms on the wrong level", "hb_arm.v", "level ~^ {P{idle}}", "level ^ {P{idle}}", WHOLE),
    ("inner node does not await its parent", "hb_node.v", "down_reg <= down_in", "down_reg <= up", (NODE, TREE)),
    ("start leaves a request up", "hb_node.v", ".load_value(down)", ".load_value(!down)", (NODE,)),
    ("start keeps the dead job's request", "hb_celement.v", "else if (load) out_reg <= load_value", "else if (load) out_reg <= out_reg", (NODE,)),
    ("glitch passes the filter", "hb_filter.v", "all_one & past_reg[W*j+:W]", "all_one", (("f_wire", ""),)),
    ("one clock too many", "hb_link.v", ".STAGES(STAGES)) sync", ".STAGES(STAGES + 1)) sync", (("f_wire", ""), ("f_latency", ""))),
    ("one port's arrival stands for all", "hb_groups.v", "arrived_reg | port_reg", "arrived_reg | {P{1'b1}}", (("f_groups", "P=3"),)),
    ("a member ignored", "hb_groups.v", "~|(member_reg & ~arrived)", "~|(member_reg[P-1:1] & ~arrived[P-1:1])", (("f_groups", "P=3"),)),
    ("arrivals outlive the release", "hb_groups.v", "take_write | complete ?", "take_write ?", (("f_groups", "P=3"),)),
    ("arrivals of a dead job are kept", "hb_groups.v", "take_write | complete ? {P{1'b0}} : arrived", "complete ? {P{1'b0}} : take_write ? arrived_reg : arrived", (("f_groups", "P=3"),)),
    ("a stale port is believed", "hb_groups.v", "stale_reg | (take_write ? write_members_reg : {P{1'b0}})", "stale_reg", (("f_groups", "P=3"),)),
    ("a dead job's group moves a resting port", "hb_groups.v", "member_reg & waiting", "member_reg", (("f_groups", "P=3"),)),
    ("counted for the next group picked", "hb_groups.v", "take_write ? write_number_reg : group_reg", "take_write ? write_number_reg : group", (("f_groups", "P=3"),)),
    ("an arrival is counted at power-on", "hb_groups.v", "reg count_reg = 1'b0", "reg count_reg = 1'b1", (("f_groups_start", ""),)),
    ("the select wires come after the arrival", "hb_group_device.v", ".STAGES(STAGES)) select_inst", ".STAGES(STAGES + SAMPLES + 1)) select_inst", (("f_group_device", ""),)),
    ("a group's members are another's", "hb_group_regs.v", "group_number = bus_addr[BITS-1:0]", "group_number = {BITS{1'b1}}", (("f_group_device", ""), ("f_group_regs", ""))),
    ("addresses behind the last group write it", "hb_group_regs.v", " && bus_addr[10:0] >> BITS == 11'd0", "", (("f_group_regs", ""),)),
    # What an earlier set of harnesses let through: devices below a root, registers, interrupts, resets.
    ("the uplink shows the release", "hb_device.v", "assign up_out = up", "assign up_out = down", (("f_device", "ROOT=0 LIVE=1"),)),
    ("a bus level outlives the start", "hb_regs.v", "level_reg[b*P+p] <= down[b]", "level_reg[b*P+p] <= level_reg[b*P+p]", (("f_device", "ROOT=1 LIVE=1"), ("f_regs", "P=4 B=1"))),
    ("groups of 16 ports a word", "hb_regs.v", "{5'd0, p[11:5]}", "{4'd0, p[11:4]}", (("f_regs", "P=34 B=1"),)),
    ("an interrupt lost at its clearing", "hb_irq.v", "(status_reg & ~clear) | (down ^ down_reg)", "(status_reg | (down ^ down_reg)) & ~clear", (("f_irq", ""),)),
    ("UP shows the release", "hb_regs.v", "rdata_next[B-1:0] = up", "rdata_next[B-1:0] = down", (("f_regs", "P=4 B=1"),)),
    ("ARMED shows the members", "hb_regs.v", "= armed[rb*P+32*rw+rp]", "= member_reg[rb*P+32*rw+rp]", (("f_regs", "P=4 B=1"),)),
    ("a reset leaves the machine", "hb_celement.v", "if (rst) out_reg <= 1'b0", "if (rst) out_reg <= out_reg", (("f_reset", ""),)),
    ("a reset leaves the guard", "hb_arm.v", "if (rst || start)", "if (start)", (("f_reset", ""),)),
    ("a reset leaves the inner level", "hb_node.v", "if (rst) down_reg <= 1'b0", "if (rst) down_reg <= down_reg", (("f_reset", ""),)),
    ("a reset leaves the interrupts", "hb_irq.v", "status_reg <= {B{1'b0}};\n        end", "status_reg <= status_reg;\n        end", (("f_reset", ""),)),
    ("another barrier's start", "hb_device.v", ".start(start[g])", ".start(|start)", (("f_independent", ""),)),
    ("another barrier's parent", "hb_device.v", "parent_down[g]", "parent_down[B-1]", (("f_independent", ""),)),
    ("another barrier's toggle", "hb_regs.v", "^ bus_wdata[b[4:0]]", "^ |bus_wdata", (("f_independent", ""),)),
]


def mutant_jobs():
    for what, file, old, new, harnesses in MUTANTS:
        for top, params in harnesses:
            yield Job(f"mutant: {what} [{top}]", top, params, "bmc", mutant=(file, old, new), expect="cex")


def sources(job, folder):
    """The RTL to prove, with the mutant's edit applied to a copy."""
    files = sorted((HERE / "src").glob("hb_*.v"))
    if not job.mutant:
        return files
    name, old, new = job.mutant
    text = (HERE / "src" / name).read_text()
    if old is None:
        (folder / name).write_text(new)
        return [folder / f.name if f.name == name else f for f in files]
    if text.count(old) != 1:
        raise SystemExit(f"prove.py: mutant text occurs {text.count(old)} times, not once, in src/{name}: {old!r}")
    (folder / name).write_text(text.replace(old, new))
    return [folder / f.name if f.name == name else f for f in files]


def run(command, folder):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S)


def elaborate(job, folder):
    """yosys: harness and RTL to an AIGER or SMT-LIB model. A dead job leaves any state: the registers of instances
    called `stale_*` lose their power-on values."""
    verilog = " ".join(str(f) for f in [*sources(job, folder), *sorted((HERE / "formal").glob("f_*.v"))])
    define = "-DCOVER" if job.cover else "-DMUTANT" if job.mutant else ""
    chparam = "".join(f" -set {p.replace('=', ' ')}" for p in job.params.split())
    free = ""
    if job.top in ("f_flat", "f_node", "f_tree", "f_device", "f_regs", "f_irq", "f_reset", "f_wire", "f_groups",
                   "f_group_device", "f_group_regs"):
        free = "select -assert-min 1 w:*stale_*.*_reg; setattr -unset init w:*stale_*.*; "
    script = f"read_verilog -formal {define} {verilog}; " + (f"chparam{chparam} {job.top}; " if chparam else "")
    # The power-on values go before anything is optimised: else registers that differ in them alone would be merged.
    script += f"hierarchy -top {job.top}; proc; flatten; {free}prep -flatten -top {job.top}; memory_map; async2sync; "
    if job.engine == "induction":
        script += "dffunmap; setundef -undriven -anyseq; write_smt2 -wires model.smt2"
    else:
        script += ("opt -full -nodffe -nosdff; setundef -undriven -anyseq; opt_clean; techmap; dffunmap; "
                   "opt -fast -nodffe -nosdff; abc -g AND -fast; opt_clean; aigmap; write_aiger -zinit model.aig")
    done = run(["yosys", "-q", "-p", script], folder)
    if done.returncode != 0:
        raise RuntimeError(f"yosys: {done.stderr.strip() or done.stdout.strip()}")


def decide(job, folder):
    """(verdict, depth): `proved`, `cex` or `undecided`."""
    if job.engine == "induction":
        for arguments in (["-i", "-t", "6"], ["-t", "7"]):  # the step, then the base
            done = run(["yosys-smtbmc", "-s", "z3", *arguments, "model.smt2"], folder)
            if "Status: PASSED" not in done.stdout:
                return "cex" if "-i" not in arguments else "undecided", None
        return "proved", None
    if job.engine == "any state":
        # All of the design's registers may hold anything and the property spans `frames` clocks: what holds in the first
        # clocks from any state holds always.
        out = run(["yosys-abc", "-c", f"read_aiger model.aig; fold; strash; bmc3 -F {job.frames}"], folder).stdout
        found = re.search(r"was asserted in frame (\d+)", out)
        done = f"No output asserted in {job.frames} frames" in out
        return ("cex", int(found.group(1))) if found else ("proved" if done else "undecided", None)
    engine = f"pdr -T {job.limit_s}" if job.engine == "pdr" else f"bmc3 -F {job.frames} -T {job.limit_s}"
    out = run(["yosys-abc", "-c", f"read_aiger model.aig; fold; strash; {engine}"], folder).stdout
    if "Property proved" in out:
        return "proved", None
    found = re.search(r"was asserted in frame (\d+)", out)
    return ("cex", int(found.group(1))) if found else ("undecided", None)


def prove(numbered):
    number, job = numbered
    folder = BUILD / f"{number:03}"
    folder.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    try:
        elaborate(job, folder)
        verdict, depth = decide(job, folder)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        verdict, depth = f"error: {error}", None
    good = verdict == job.expect and (job.depth is None or depth == job.depth)
    return job, verdict, depth, good, time.monotonic() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="run the jobs whose name contains this text")
    parser.add_argument("--quick", action="store_true", help="without proofs that a smaller one stands beside")
    parser.add_argument("--jobs", type=int, default=2, help="jobs at a time")
    args = parser.parse_args()
    jobs = [j for j in [*PROOFS, *REGRESSIONS, *COVERS, *mutant_jobs()] if args.only in j.name and not (args.quick and j.larger)]
    if not jobs:
        raise SystemExit(f"prove.py: no job is called {args.only!r}")
    begin = time.monotonic()
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for job, verdict, depth, good, seconds in pool.map(prove, enumerate(jobs)):
            failed += not good
            shown = f"{verdict} in {depth} clocks" if depth is not None else verdict
            wanted = "" if good else f"  <-- expected {job.expect}" + (f" in {job.depth}" if job.depth else "")
            print(f"{'ok  ' if good else 'FAIL'} {job.name:62} {shown:20} {seconds:6.1f} s{wanted}", flush=True)
    print(f"{len(jobs) - failed} of {len(jobs)} as expected, {time.monotonic() - begin:.1f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
