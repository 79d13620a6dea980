#!/usr/bin/env python3
"""Runs the mutants of the Verilog (find.py) against benches, crossings and proofs: `make mutants`.

Each mutant is one row of results.csv. It is killed (by the first bench, check or proof that fails), equivalent (why),
no Verilog (does not compile) or survived. A mutant that a row calls killed first meets its killer again, then all others.
A mutant that nothing has killed is first tried for equivalence. Rows are written as they come; an interrupted run goes
on where it stopped (--again: from the start).

--sample N is for CI: N mutants that the table calls killed must die by their killer. They differ every day but are the
same for one day. It also prints how many were never run or survived.
"""

import argparse
import concurrent.futures
import csv
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path[:0] = [str(ROOT), str(ROOT / "sim"), str(HERE)]

import crossings  # noqa: E402
import find  # noqa: E402
import prove  # noqa: E402
import run as sim  # noqa: E402

BUILD = ROOT / "build" / "mutants"
TABLE = HERE / "results.csv"
REASONS = HERE / "equivalent.csv"
DONE = BUILD / "done.csv"  # keys that this run has judged
FIELDS = ("file", "line", "nth", "column", "kind", "old", "new", "verdict", "by")
LIMIT_S = 240
LIMIT_CPU_S = 30  # of a bench: a mutant may have the simulator turn in a loop for ever
LIMIT_B = 6 << 30  # of memory, a process: a mutant of the simulator's loops took 19 GB

# Benches by file, the one that kills most first; proofs by file (harness, parameters, engine).
DEVICE = ("model: inner", "model: root", "model: inner and bare", "model: 32 barriers", "model: 40 ports",
          "model: 256 ports, inner", "device: guarded", "board: 3 boards, 3 clocks", "tree: 8 ranks, radix 2")
TREE = ("tree: 4 ranks, one device", "tree: 16 ranks, radix 4", "tree: 8 ranks, radix 2", "tree: 64 ranks, radix 4")
SPI = ("spi: as the model", "board: any SPI frame", "board: 4 nodes over SPI and wires", "board: 3 boards, 3 clocks")
BOARD = ("board: any SPI frame", "board: 4 nodes over SPI and wires", "board: 3 boards, 3 clocks",
         "board: a clock that is not steady at first")
GROUPS = ("groups: as the model, 3 ports, 4 groups", "groups: as the model, 5 ports, 2 groups", "groups: 3 ports, 2 groups", "groups: 4 ports, 2048 groups", "groups: 16 ports, 2048 groups")
GROUP_DEVICE = ("group device: as the model, 3 ports", "group device: as the model, 2 ports, no filter",
                "board: 4 nodes that select one of 2048 groups")
GROUP_BOARD = ("board: 4 nodes that select one of 2048 groups",)
FAST = ("model: ", "crossings", "board: any", "board: 4", "tree: 4 ranks", "tree: 8 ranks", "groups: ", "group device: ", "spi: ")
BENCHES = {"hb_spi.v": SPI, "hb_board.v": BOARD, "hb_tree.v": TREE, "hb_groups.v": GROUPS,
           "hb_group_regs.v": GROUP_DEVICE, "hb_group_device.v": GROUP_DEVICE, "hb_group_board.v": GROUP_BOARD}
NODE = (("f_node", "P=4", "bmc"), ("f_flat", "P=3 START=2", "bmc"), ("f_tree", "STAGGERED=1", "bmc"))
WIRES = (("f_wire", "", "bmc"),)
PROOFS = {"hb_celement.v": NODE, "hb_arm.v": NODE, "hb_node.v": NODE, "hb_sync.v": WIRES, "hb_filter.v": WIRES,
          "hb_link.v": WIRES, "hb_groups.v": (("f_groups_start", "", "bmc"), ("f_groups", "P=3", "bmc")), "hb_tree.v": (),
          "hb_group_board.v": (), "hb_group_device.v": (("f_group_device", "", "bmc"),),
          "hb_group_regs.v": (("f_group_regs", "", "bmc"), ("f_group_device", "", "bmc")),
          "hb_device.v": (("f_independent", "", "bmc"), ("f_device", "ROOT=0 LIVE=1", "bmc")),
          "hb_regs.v": (("f_regs", "P=34 B=1", "bmc"), ("f_device", "ROOT=1 LIVE=1", "bmc")), "hb_irq.v": (("f_irq", "", "bmc"),)}
CROSSING = ("hb_sync.v", "hb_filter.v", "hb_link.v", "hb_device.v", "hb_board.v", "hb_spi.v", "hb_tree.v",
            "hb_group_device.v", "hb_group_board.v", "hb_group_regs.v")
# Where a mutant that nothing kills is compared with the original, from power-on, under any inputs: the module alone,
# else a device around it.
SAME = {
    "hb_arm.v": ("hb_arm P=3", "hb_arm P=3 ENABLE=0"), "hb_celement.v": ("hb_celement P=1", "hb_celement P=4"),
    "hb_node.v": ("hb_node P=3 ROOT=0", "hb_node P=3 ROOT=1"), "hb_irq.v": ("hb_irq B=3",),
    "hb_sync.v": ("hb_sync W=2 STAGES=1", "hb_sync W=2 STAGES=3"),
    "hb_filter.v": tuple(f"hb_filter W=2 SAMPLES={n}" for n in (0, 1, 2, 3, 4)), "hb_link.v": ("hb_link W=2",),
    "hb_regs.v": ("hb_regs P=3 B=2 BUS_PORTS=3", "hb_regs P=33 B=1 BUS_PORTS=4294967297"),
    "hb_groups.v": ("hb_groups P=2 BITS=1", "hb_groups P=3 BITS=1"), "hb_spi.v": ("hb_spi",),
    "hb_board.v": ("hb_board P=2 ROOT=0",), "hb_tree.v": ("hb_tree RADIX=2 DEPTH=2", "hb_tree RADIX=3 DEPTH=2"),
    "hb_group_regs.v": ("hb_group_regs P=3 BITS=2", "hb_group_regs P=32 BITS=11"), "hb_group_board.v": (),
    "hb_group_device.v": ("hb_group_device P=2 BITS=1",), "hb_device.v": (),
}
SAME_DEVICE = ("hb_device P=3 B=2 ROOT=0 BUS_PORTS=3", "hb_device P=2 B=1 ROOT=1 SAMPLES=1 STAGES=1")
NO_DEVICE = ("hb_groups.v", "hb_group_regs.v", "hb_group_device.v", "hb_group_board.v", "hb_spi.v", "hb_board.v", "hb_tree.v")


def read(path):
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def key(row):
    return row["file"], row["line"], row["nth"], row["column"], row["kind"], row["new"]


class Trial:
    """One mutant in a folder of its own."""

    def __init__(self, number, mutant):
        self.mutant, self.folder = mutant, BUILD / f"{number:04}"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.text = mutant.apply((ROOT / "src" / mutant.file).read_text())
        path = self.folder / mutant.file
        path.write_text(self.text)
        self.sources = [path if s.name == mutant.file else s for s in sim.SOURCES]
        self.verilog = [s for s in self.sources if s.name.startswith("hb_")]

    def compiles(self):
        """As Verilog, for one top that holds the file."""
        top = {"hb_groups.v": "hb_groups", "hb_tree.v": "hb_tree", "hb_spi.v": "hb_board", "hb_board.v": "hb_board",
               "hb_group_regs.v": "hb_group_regs", "hb_group_device.v": "hb_group_device", "hb_group_board.v": "hb_group_board"}
        done = subprocess.run(["iverilog", "-g2005", "-s", top.get(self.mutant.file, "hb_device"), "-o", os.devnull,
                               *map(str, self.verilog)], capture_output=True, timeout=LIMIT_S)
        return done.returncode == 0

    def bench(self, name):
        _, top, bench, parameters, settings = next(j for j in sim.jobs() if j[0] == name)
        settings = {"SEED": 1, **settings}
        if bench == "replay":  # no cocotb: in this process
            try:
                return bool(sim.run(name, top, bench, parameters, settings, self.sources, self.folder, quiet=True)[1])
            except subprocess.TimeoutExpired:
                return True
        code = ("import sys; sys.path[:0] = [sys.argv[1]]; import run, json, pathlib; a = json.loads(sys.argv[2]); "
                "r, b = run.run(*a[:5], [pathlib.Path(s) for s in a[5]], pathlib.Path(a[6])); sys.exit(r == 0 or bool(b))")
        words = [name, top, bench, parameters, settings, list(map(str, self.sources)), str(self.folder)]
        child = subprocess.Popen([sys.executable, "-c", code, str(ROOT / "sim"), json.dumps(words)],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_CPU_S, LIMIT_CPU_S)),
                                 env={**os.environ, "PYTHONPATH": str(ROOT / "sim")})
        try:
            return child.wait(LIMIT_S) != 0
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)  # the simulator too
            child.wait()
            return True

    def crossing(self):
        try:
            sources = [*self.verilog, *(s for s in crossings.SOURCES if not s.name.startswith("hb_"))]
            return crossings.check(sources, shown=False) > 0
        except (RuntimeError, KeyError):
            return True

    def proof(self, name):
        top, params, engine = name
        job = prove.Job("", top, params, engine, mutant=(self.mutant.file, None, self.text), frames=20, limit_s=60)
        try:
            prove.elaborate(job, self.folder)
            return prove.decide(job, self.folder)[0] == "cex"
        except (RuntimeError, subprocess.TimeoutExpired):
            return False

    def killers(self):
        """(name, does it fail) of all that this mutant meets."""
        benches = BENCHES.get(self.mutant.file, DEVICE)
        for name in benches[:7]:
            yield name, lambda name=name: self.bench(name)
        if self.mutant.file in CROSSING:
            yield "crossings", self.crossing
        for name in benches[7:]:
            yield name, lambda name=name: self.bench(name)
        for name in PROOFS.get(self.mutant.file, ()):
            yield f"proof {name[0]} {name[1]}".strip(), lambda name=name: self.proof(name)

    def killed_by(self, first=None, only_first=False, fast=False):
        killers = {k: f for k, f in self.killers() if not fast or k.startswith(FAST)}
        order = ([first] if first in killers else []) + [k for k in killers if k != first and not only_first]
        return next((name for name in order if killers[name]()), None)

    def same(self):
        """Where it was proved equal to the original, in words; None where it was not. The proofs know one clock and not
        its edges."""
        if self.mutant.kind == "edge":
            return None
        places = SAME[self.mutant.file]
        if not places or not all(map(self.same_at, places)):
            places = () if self.mutant.file in NO_DEVICE else SAME_DEVICE
            if not places or not all(map(self.same_at, places)):
                return None
        return "same outputs, proved for " + " and ".join(places)

    def same_steps(self, chparam, top):
        """Whether both, from equal states of registers that correspond, have equal outputs and next states. Power-on
        values are part of it: each register is taken as one that starts at 0, inverted or not."""
        for side, files in (("gold", sorted((ROOT / "src").glob("hb_*.v"))), ("gate", self.verilog)):
            script = (f"read_verilog {' '.join(map(str, files))}; " + (f"chparam{chparam} {top}; " if chparam else "")
                      + f"prep -flatten -top {top}; memory_map; async2sync; opt -full -nodffe -nosdff; setundef -undriven -zero; "
                      "opt_clean; techmap; dffunmap; opt -fast -nodffe -nosdff; abc -g AND -fast; opt_clean; aigmap; "
                      f"write_aiger -zinit {side}.aig")
            done = subprocess.run(["yosys", "-q", "-p", script], cwd=self.folder, capture_output=True, timeout=LIMIT_S)
            if done.returncode != 0:
                return False
        steps = "read_aiger gold.aig; comb; write_aiger gold_step.aig; read_aiger gate.aig; comb; write_aiger gate_step.aig; "
        out = subprocess.run(["yosys-abc", "-c", steps + "cec -n gold_step.aig gate_step.aig"], cwd=self.folder,
                             capture_output=True, text=True, timeout=LIMIT_S).stdout
        return "Networks are equivalent" in out

    def same_at(self, place):
        """Whether both have equal outputs at this module with these parameters. Where registers do not correspond, the two
        run side by side; there too, one without a first value starts at 0, in both."""
        top, *params = place.split()
        chparam = "".join(f" -set {p.replace('=', ' ')}" for p in params)
        sides = ""
        for side, files in (("gold", sorted((ROOT / "src").glob("hb_*.v"))), ("gate", self.verilog)):
            sides += (f"read_verilog {' '.join(map(str, files))}; " + (f"chparam{chparam} {top}; " if chparam else "")
                      + f"prep -flatten -top {top}; memory_map; async2sync; rename -top {side}; design -stash {side}; ")
        if self.same_steps(chparam, top):
            return True
        script = (sides + "design -copy-from gold -as gold gold; design -copy-from gate -as gate gate; "
                  "miter -equiv -make_assert -flatten gold gate both; hierarchy -top both; prep -top both; "
                  "opt -full -nodffe -nosdff; setundef -undriven -zero; setundef -init -zero; opt_clean; techmap; dffunmap; "
                  "opt -fast -nodffe -nosdff; abc -g AND -fast; opt_clean; aigmap; write_aiger -zinit same.aig")
        engine = "read_aiger same.aig; fold; strash; scorr; dc2; pdr -T 60"
        try:
            done = subprocess.run(["yosys", "-q", "-p", script], cwd=self.folder, capture_output=True, timeout=LIMIT_S)
            if done.returncode != 0:
                return False
            out = subprocess.run(["yosys-abc", "-c", engine], cwd=self.folder, capture_output=True, text=True,
                                 timeout=LIMIT_S).stdout
        except subprocess.TimeoutExpired:
            return False
        return "Property proved" in out or "Networks are equivalent" in out


def judge(work):
    number, mutant, row, reason, fast = work
    begin = time.monotonic()
    trial = Trial(number, mutant)
    first = row["by"] if row and row["verdict"] == "killed" else None
    if not trial.compiles():
        verdict, by = "no Verilog", "iverilog"
    elif fast:
        name = trial.killed_by(first, fast=True)
        verdict, by = ("killed", name) if name else ("survived", "")
    elif row and row["verdict"] != "killed" and (why := reason or trial.same()) is not None:
        verdict, by = "equivalent", why
    elif (name := trial.killed_by(first)) is not None:
        verdict, by = "killed", name
    elif (why := reason or trial.same()) is not None:
        verdict, by = "equivalent", why
    else:
        verdict, by = "survived", ""
    shutil.rmtree(trial.folder, ignore_errors=True)
    made = {"file": mutant.file, "line": mutant.line, "nth": str(mutant.nth), "column": str(mutant.column), "kind": mutant.kind,
            "old": mutant.old, "new": mutant.new, "verdict": verdict, "by": by}
    return made, time.monotonic() - begin


def dies(work):
    number, mutant, row = work
    trial = Trial(number, mutant)
    killed = trial.killed_by(row["by"], only_first=True) is not None
    shutil.rmtree(trial.folder, ignore_errors=True)
    return killed


def write(path, rows):
    with path.open("w", newline="") as file:
        out = csv.DictWriter(file, FIELDS, lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


def summary(rows):
    counts = {}
    for row in rows:
        counts.setdefault(row["file"], {}).setdefault(row["verdict"], []).append(row)
    total = dict.fromkeys(("killed", "equivalent", "no Verilog", "survived"), 0)
    print(f"{'file':16}" + "".join(f"{v:>12}" for v in total))
    for file, by in sorted(counts.items()):
        print(f"{file:16}" + "".join(f"{len(by.get(v, [])):12}" for v in total))
        total = {v: n + len(by.get(v, [])) for v, n in total.items()}
    print(f"{'all':16}" + "".join(f"{n:12}" for n in total.values()))
    for row in rows:
        if row["verdict"] == "survived":
            print(f"SURVIVED {row['file']}: {row['line']!r}, column {row['column']}: {row['old']!r} -> {row['new']!r}")
    print(f"survived: {total['survived']}")
    return total["survived"]


def sample(mutants, rows, count, seed):
    """CI's form: some of those that were killed die again; says what is left to do."""
    missing = [m for m in mutants if m.key() not in rows]
    survived = [m for m in mutants if m.key() in rows and rows[m.key()]["verdict"] == "survived"]
    failed = 0
    killed = [m for m in mutants if m.key() in rows and rows[m.key()]["verdict"] == "killed"]
    chosen = [killed[(seed + k * len(killed) // count) % len(killed)] for k in range(count)]
    work = [(9000 + k, m, rows[m.key()]) for k, m in enumerate(chosen)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for (_, m, row), good in zip(work, pool.map(dies, work)):
            failed += not good
            if not good:
                print(f"FAIL {m.file}: {m.line!r}: {m.old!r} -> {m.new!r} lives on, {row['by']} killed it before")
    print(f"mutants: {len(mutants)}, of them {len(missing)} never run (make mutants), {len(survived)} survived; "
          f"{count} of {len(killed)} killed ones run again, {failed} lived on")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--file", default="", help="only the mutants of files whose name contains this")
    parser.add_argument("--verdict", default="", help="only those with this verdict in the table (survived, none)")
    parser.add_argument("--fast", action="store_true", help="only the killers that take a second; the rest counts as survived")
    parser.add_argument("--again", action="store_true", help="forget where an interrupted run stopped")
    parser.add_argument("--sample", type=int, default=0, help="check the table and rerun this many mutants (CI)")
    parser.add_argument("--seed", type=int, default=int(time.time()) // 86400, help="which mutants a sample takes")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    args = parser.parse_args()
    mutants = find.all_mutants(ROOT / "src")
    rows = {key(r): r for r in read(TABLE)}
    reasons = {key(r): r["reason"] for r in read(REASONS)}
    BUILD.mkdir(parents=True, exist_ok=True)
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_B, LIMIT_B))
    if args.sample:
        return sample(mutants, rows, args.sample, args.seed)
    if args.again or not DONE.exists():
        write(DONE, [])
    done = {key(r) for r in read(DONE)}
    wanted = [m for m in mutants if args.file in m.file and m.key() not in done
              and (not args.verdict or rows.get(m.key(), {"verdict": "none"})["verdict"] == args.verdict)]
    work = [(n, m, rows.get(m.key()), reasons.get(m.key()), args.fast) for n, m in enumerate(wanted)]
    order = {m.key(): n for n, m in enumerate(mutants)}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool, DONE.open("a", newline="") as log:
        lines = csv.DictWriter(log, FIELDS, lineterminator="\n")
        futures = [pool.submit(judge, w) for w in work]
        try:
            for n, future in enumerate(concurrent.futures.as_completed(futures), 1):
                row, seconds = future.result()
                rows[key(row)] = row
                lines.writerow(row)
                log.flush()
                write(TABLE, sorted((r for k, r in rows.items() if k in order), key=lambda r: order[key(r)]))
                if row["verdict"] != "killed" or n % 25 == 0:
                    print(f"{n}/{len(work)} {row['verdict']:10} {row['file']} {row['old'][:40]!r} -> {row['new'][:40]!r} "
                          f"in {row['line'][:70]!r} {row['by']} {seconds:.0f} s", flush=True)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            print("interrupted: the next run goes on here")
            return 130
    if not args.file and not args.verdict:
        DONE.unlink()
    left = summary([rows[m.key()] for m in mutants if m.key() in rows])
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
