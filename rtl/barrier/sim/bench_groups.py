"""Barriers of groups that the ports select by wires (hb_groups). All 2**BITS groups are reached, and ranks of different
groups run at their own speed. A job begins over whatever a dead one left in ports and memory."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

SEED = int(os.environ["HB_SEED"])
BARRIERS = int(os.environ["HB_BARRIERS"])
BUSY = 100  # clocks that a write may take


class Groups:
    """The device, with each rank's wires as integers."""

    def __init__(self, dut):
        self.dut, self.ports, self.bits = dut, int(dut.P.value), int(dut.BITS.value)
        self.level, self.select, self.left = 0, 0, 0  # left: barriers that ranks have left

    async def begin(self, level):
        cocotb.start_soon(Clock(self.dut.clk, 10, unit="ns").start())
        self.level = level
        self.dut.level.value, self.dut.select.value = level, 0
        self.dut.group_write.value = self.dut.group_number.value = self.dut.group_members.value = 0
        self.dut.rst.value = 1
        await FallingEdge(self.dut.clk)
        await FallingEdge(self.dut.clk)
        self.dut.rst.value = 0

    async def idle(self):
        for _ in range(BUSY):
            if not int(self.dut.group_busy.value):
                return
            await FallingEdge(self.dut.clk)
        raise AssertionError(f"a write is not taken for {BUSY} clocks")

    async def write(self, group, members):
        await self.idle()
        self.dut.group_write.value, self.dut.group_number.value, self.dut.group_members.value = 1, group, members
        await FallingEdge(self.dut.clk)
        self.dut.group_write.value = 0
        await self.idle()

    def released(self, port):
        return int(self.dut.released.value) >> port & 1

    def set_level(self, port, level):
        self.level = self.level & ~(1 << port) | level << port
        self.dut.level.value = self.level

    def set_select(self, port, group):
        mask = (1 << self.bits) - 1
        self.select = self.select & ~(mask << port * self.bits) | group << port * self.bits
        self.dut.select.value = self.select


async def rank(groups, port, plan, arrived, rng):
    """The protocol: write the status back; for each group of the plan: select it, toggle, read until toggled."""
    level = groups.released(port)
    groups.set_level(port, level)
    await FallingEdge(groups.dut.clk)
    for number, (group, members) in enumerate(plan):
        groups.set_select(port, group)
        for _ in range(1 + rng.randrange(30)):
            await FallingEdge(groups.dut.clk)
        level ^= 1
        arrived.setdefault((group, visit(plan, number)), set()).add(port)
        groups.set_level(port, level)
        idle, seen = 0, groups.left
        while groups.released(port) != level:
            await FallingEdge(groups.dut.clk)
            idle, seen = (idle + 1, seen) if groups.left == seen else (0, groups.left)
            assert idle < 1000, f"port {port} waits in group {group}, and nobody has left any for {idle} clocks"
        groups.left += 1
        together = arrived[group, visit(plan, number)]
        assert together >= members, f"port {port} left group {group} when only {together} of {members} had arrived"


def visit(plan, number):
    """How often this rank was in the group before: all members count alike."""
    return sum(group == plan[number][0] for group, _ in plan[:number])


@cocotb.test()
async def nobody_leaves_a_group_early(dut):
    rng = random.Random(SEED)
    groups = Groups(dut)
    everyone = 1 << groups.ports
    await groups.begin(rng.randrange(everyone))
    members = {0: everyone - 1, 2**groups.bits - 1: everyone - 1}
    while len(members) < min(24, 2**groups.bits):
        members[rng.randrange(2**groups.bits)] = rng.randrange(1, everyone)
    # A dead job's port waits in a group that this job does not write: it must not count, nor be moved.
    for group, mask in members.items():
        await groups.write(group, mask)
    # One order for all: each rank walks the barriers that it is in, so that nobody waits for one who waits for him.
    order = [rng.choice(list(members)) for _ in range(BARRIERS)]
    ports = {group: {p for p in range(groups.ports) if mask >> p & 1} for group, mask in members.items()}
    arrived = {}
    tasks = [cocotb.start_soon(rank(groups, port, [(g, ports[g]) for g in order if port in ports[g]], arrived,
                                    random.Random(SEED + port))) for port in range(groups.ports)]
    for task in tasks:
        await task
    assert len({group for group, _ in arrived}) == len(set(order))
    dut._log.info(f"seed {SEED}: {len(order)} barriers of {len(members)} of {2**groups.bits} groups")


@cocotb.test()
async def one_arrival_takes_two_clocks(dut):
    """H06's linear law: the last arrival of P together is counted after 2P clocks."""
    groups = Groups(dut)
    await groups.begin(0)
    await groups.write(1, (1 << groups.ports) - 1)
    for port in range(groups.ports):
        groups.set_level(port, groups.released(port))
        groups.set_select(port, 1)
    for _ in range(4):
        await FallingEdge(dut.clk)
    for port in range(groups.ports):
        groups.set_level(port, 1 - groups.released(port))
    clocks = 0
    while any(groups.released(port) != groups.level >> port & 1 for port in range(groups.ports)):
        await FallingEdge(dut.clk)
        clocks += 1
        assert clocks <= 2 * groups.ports + 2
    assert clocks >= 2 * groups.ports
