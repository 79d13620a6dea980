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
source = "rtl/barrier: {shape}"
status = "estimated"
enter = {{ value = 1.2, unit = "us", source = "H06 s23: o_w, outb, 2.4 GHz Xeon", status = "published" }}
read = {{ value = 1.2, unit = "us", source = "H06 s23: o_r, inb, 2.4 GHz Xeon", status = "published" }}
hop = {hop}
gate = {gate}
software = {{ value = 0.13, unit = "us", source = "H06 s24: 2.57 us measured in Open MPI less the model's 2.44 us", status = "fitted" }}
"""
HOP = '{{ value = {ns}, unit = "ns", source = "{source}", status = "estimated", uncertainty = [0, 50] }}'
GATE = '{{ value = {ns:.1f}, unit = "ns", source = "{source}", status = "estimated", uncertainty = [{least:.1f}, {ns:.1f}] }}'


def write(short, title, target, table, shape, rows):
    """Writes one fabric of whole networks. A row: ranks, op in ns, of which edges may fall so that `early` ns less pass, and
    its source.

    Static timing is of the slowest silicon, and an edge falls at the worst moment between two of the clock. So the value is
    the most; the least leaves that moment out."""
    most = max(ranks for ranks, *_ in rows)
    text = FABRIC.format(short=short, title=title, target=target, table=table, shape=f"{shape}, all within o_p(P)", most=most,
                         hop=HOP.format(ns=0, source="cables are not counted: 5 ns a metre"),
                         gate=GATE.format(ns=0, least=0, source="within o_p(P)"))
    text += "\n[barrier.processing]\n"
    for ranks, ns, early, source in rows:
        text += f"{ranks} = {GATE.format(ns=ns, least=ns - early, source=source)}\n"
    (FOLDER / f"hwbarr-{short}.toml").write_text(text)


def write_board(short, title, target, table, row):
    """Writes the fabric of one board, which makes trees of any height: each board takes `op` up and down, each wire a metre."""
    ports, ns, early, source = row
    text = FABRIC.format(short=short, title=title, target=target, table=table, shape="a board, beyond its ports a tree of them",
                         most=ports, hop=HOP.format(ns=5, source="a metre of cable"),
                         gate=GATE.format(ns=ns, least=ns - early, source=source))
    (FOLDER / f"hwbarr-{short}.toml").write_text(text)
