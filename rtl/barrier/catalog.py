"""The catalog's fabrics with this device, catalog/fabrics/hwbarr-*.toml: H06's cluster, o_p(P) from static timing."""

import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "catalog" / "fabrics"
FABRIC = """\
# Written by `make -C rtl/barrier {target}` from {table}: do not edit.
# H06's cluster with the barrier of rtl/barrier on {title} in place of the prototype's device.
name = "hwbarr-{short}"
title = "Gigabit Ethernet cluster with rtl/barrier on {title}, parallel port (H06)"
parts = ["gigabit-ethernet"]
routing = "shortest-single"

[topology]
kind = "crossbar"
ports = 48
source = "one switch, by analogy"
status = "estimated"

[barrier]
name = "hb_board on {title}"
arity = {most}
source = "rtl/barrier: {shape}, all within o_p(P)"
status = "estimated"
enter = {{ value = 1.2, unit = "us", source = "H06 s23: o_w, outb, 2.4 GHz Xeon", status = "published" }}
read = {{ value = 1.2, unit = "us", source = "H06 s23: o_r, inb, 2.4 GHz Xeon", status = "published" }}
hop = {{ value = 0, unit = "ns", source = "cables are not counted: 5 ns a metre", status = "estimated", uncertainty = [0, 50] }}
gate = {{ value = 0, unit = "ns", source = "within o_p(P)", status = "estimated", uncertainty = [0, 0] }}
software = {{ value = 0.13, unit = "us", source = "H06 s24: 2.57 us measured in Open MPI less the model's 2.44 us", status = "fitted" }}

[barrier.processing]
"""


def write(short, title, target, table, shape, rows):
    """Writes one fabric. A row: ranks, op in ns, of which edges may fall so that `early` ns less pass, and its source.

    Static timing is of the slowest silicon. So the value is the most, and the least leaves out the clock for an edge that
    falls between two clock edges."""
    most = max(ranks for ranks, *_ in rows)
    text = FABRIC.format(short=short, title=title, target=target, table=table, shape=shape, most=most)
    for ranks, ns, early, source in rows:
        text += (f'{ranks} = {{ value = {ns:.1f}, unit = "ns", source = "{source}", status = "estimated", '
                 f"uncertainty = [{ns - early:.1f}, {ns:.1f}] }}\n")
    (FOLDER / f"hwbarr-{short}.toml").write_text(text)
