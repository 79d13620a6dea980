#!/usr/bin/env python3
"""Clock crossings by structure, on the netlist that yosys makes: `make crossings`.

Each bit of an asynchronous input must go to one place only, the data input of a flip-flop marked ASYNC_REG. The output
of that one must go to one place only, the next flip-flop of the chain, marked too. So nothing comes before the
synchroniser, no bit is taken twice, and nothing sees the first stage, which may be metastable. All flip-flops must take
the rising edge of `clk`. Exit status 1 if any bit differs. Needs yosys.
"""

import argparse
import collections
import json
import math
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = [*sorted((HERE / "src").glob("hb_*.v")), HERE / "boards" / "board.v"]
# top, parameters, asynchronous inputs, of these those that nothing need use
TOPS = [
    ("hb_board", {"P": 4, "B": 1, "ROOT": 1}, ("pin_in", "down_in", "cs_n", "sck", "mosi"), ("down_in",)),
    ("hb_board", {"P": 3, "B": 2, "ROOT": 0}, ("pin_in", "down_in", "cs_n", "sck", "mosi"), ()),
    ("hb_device", {"P": 3, "B": 2, "ROOT": 0, "SAMPLES": 0}, ("pin_in", "down_in"), ()),
    ("hb_device", {"P": 40, "B": 1, "ROOT": 0, "ARM": 0, "STAGES": 3, "SAMPLES": 1}, ("pin_in", "down_in"), ()),
    ("board", {"N": 3, "ROOT": 0}, ("from_node", "down_in", "cs_n", "sck", "mosi", "lock"), ()),
    ("hb_group_board", {"P": 3, "BITS": 2}, ("pin_in", "select_in", "cs_n", "sck", "mosi"), ()),
    ("hb_tree", {"RADIX": 2, "DEPTH": 2}, ("pin_in",), ()),
]


def netlist(top, parameters, sources):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "netlist.json"
        chparam = "".join(f" -set {name} {value}" for name, value in parameters.items())
        script = (f"read_verilog {' '.join(map(str, sources))}; chparam{chparam} {top}; prep -flatten -top {top}; "
                  f"opt_clean -purge; write_json {path}")
        done = subprocess.run(["yosys", "-q", "-p", script], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"yosys: {done.stderr.strip()}")
        modules = json.loads(path.read_text())["modules"]
    return next(m for m in modules.values() if "top" in m["attributes"])


class Netlist:
    def __init__(self, module):
        self.ports = module["ports"]
        self.users = collections.defaultdict(list)  # bit: (cell or None for an output, port, place)
        self.flops, self.marked = {}, set()
        for name, cell in module["cells"].items():
            for port, bits in cell["connections"].items():
                if cell["port_directions"][port] == "input":
                    for place, bit in enumerate(bits):
                        self.users[bit].append((name, port, place))
            if "CLK" in cell["connections"]:
                self.flops[name] = cell
        for name, port in self.ports.items():
            if port["direction"] == "output":
                for place, bit in enumerate(port["bits"]):
                    self.users[bit].append((None, name, place))
        for net in module["netnames"].values():
            if net["attributes"].get("ASYNC_REG") == "TRUE":
                self.marked |= set(net["bits"])

    def next_stage(self, bit, what):
        """The output of the one flip-flop that takes this bit."""
        users = self.users[bit]
        if len(users) != 1:
            raise ValueError(f"{what} goes to {len(users)} places: {users[:4]}")
        cell, port, place = users[0]
        if cell not in self.flops or port != "D":
            raise ValueError(f"{what} goes to {cell or 'output'}.{port}, not to a flip-flop's data input")
        if not self.flops[cell]["type"] == "$dff":
            raise ValueError(f"{what} goes to a {self.flops[cell]['type']}, which has more than a clock and data")
        out = self.flops[cell]["connections"]["Q"][place]
        if out not in self.marked:
            raise ValueError(f"{what} goes to a flip-flop without the attribute ASYNC_REG")
        return out

    def faults(self, inputs, may_be_open):
        for name in inputs:
            for place, bit in enumerate(self.ports[name]["bits"]):
                what = f"{name}[{place}]"
                if not self.users[bit] and name in may_be_open:
                    continue
                try:
                    first = self.next_stage(bit, what)
                    self.next_stage(first, f"the first stage of {what}")
                except ValueError as fault:
                    yield str(fault)
        clock = self.ports["clk"]["bits"]
        for name, cell in self.flops.items():
            if cell["connections"]["CLK"] != clock or int(cell["parameters"]["CLK_POLARITY"], 2) != 1:
                yield f"{name} is not clocked by the rising edge of clk"


def check(sources, shown=True):
    """The number of faults over all tops."""
    failed = 0
    for top, parameters, inputs, may_be_open in TOPS:
        module = Netlist(netlist(top, parameters, sources))
        found = list(module.faults(inputs, may_be_open))
        failed += len(found)
        if shown:
            note = ", ".join(f"{k}={v}" for k, v in parameters.items())
            bits = sum(len(module.ports[name]["bits"]) for name in inputs)
            print(f"{'FAIL' if found else 'ok  '} {top} {note}: {bits} asynchronous bits, {len(module.flops)} registers")
            for fault in found:
                print(f"     {fault}")
    return failed


def mtbf_years_log10(clock_mhz, stages, events_per_s, tau_ns, window_ns=0.1, path_ns=1.5):
    """Log10 of the years between two failures of all synchronisers together: exp(settling / tau) / (window * clock *
    events). The settling time is what stages 2 to `stages` leave of their clocks after clock-to-out, routing and setup
    (path_ns)."""
    settling_ns = (stages - 1) * (1e3 / clock_mhz - path_ns)
    log10_s = settling_ns / tau_ns / math.log(10) - math.log10(window_ns * 1e-9 * clock_mhz * 1e6 * events_per_s)
    return log10_s - math.log10(365.25 * 86400)


def mtbf(clock_mhz, events_per_s):
    """A table over what vendors do not publish: tau, the flip-flop's time constant."""
    print(f"{clock_mhz} MHz, {events_per_s:.3g} edges a second on all wires: years between failures, as a power of ten")
    print("stages" + "".join(f"{f'tau {tau} ns':>14}" for tau in (0.05, 0.1, 0.2, 0.3)))
    for stages in (2, 3, 4):
        cells = (mtbf_years_log10(clock_mhz, stages, events_per_s, tau) for tau in (0.05, 0.1, 0.2, 0.3))
        print(f"{stages:6}" + "".join(f"{f'1e{c:.0f}':>14}" for c in cells))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mtbf", type=float, metavar="MHZ", help="print the mean time between failures at this clock instead")
    parser.add_argument("--edges", type=float, default=2e6, help="edges a second on all asynchronous wires together (2e6)")
    args = parser.parse_args()
    if args.mtbf:
        mtbf(args.mtbf, args.edges)
        return 0
    return 1 if check(SOURCES) else 0


if __name__ == "__main__":
    sys.exit(main())
