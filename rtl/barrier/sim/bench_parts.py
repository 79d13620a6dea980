"""hb_groups, hb_group_device and hb_spi held to a model of each in every clock, from power-on, under any inputs, resets in
the middle of anything included. The models were written from the modules' headers and docs/barrier.md, not from their
bodies."""

import os
import random

import cocotb
import model
from cocotb.triggers import Timer

SEED = int(os.environ["HB_SEED"])
CLOCKS = int(os.environ["HB_CLOCKS"])
CONFIG = os.environ["HB_CONFIG"]
FIRST = 4 * 50


class Groups:
    """The arrivals by place. One arrival takes two clocks: its port and group are picked, then it is counted."""

    def __init__(self, ports, groups):
        self.ports, self.members, self.arrived = ports, [0] * groups, [0] * groups
        self.released, self.known, self.stale = [0] * ports, [False] * ports, [True] * ports
        self.picked, self.asked = None, None  # an arrival to be counted; a group to be written

    def clock(self, rst, level, select, write):
        waiting = [a != b for a, b in zip(level, self.released)]
        picked, asked, released = None, self.asked, list(self.released)
        known, stale = list(self.known), list(self.stale)
        if self.picked is not None:
            port, group, members, arrived = self.picked
            known[port] = True
            arrived = arrived | 1 << port
            if members >> port & 1:
                self.arrived[group] = 0 if arrived & members == members else arrived
                if arrived & members == members:
                    released = [v ^ (members >> p & waiting[p]) for p, v in enumerate(released)]
        elif self.asked:
            group, members = self.asked
            self.members[group], self.arrived[group], asked = members, 0, None
            stale = [s or bool(members >> p & 1) for p, s in enumerate(stale)]
        else:
            ready = [p for p in range(self.ports) if waiting[p] and not self.known[p] and not self.stale[p]]
            if ready:
                group = select[ready[0]]
                picked = ready[0], group, self.members[group], self.arrived[group]
        if write and self.asked is None:
            asked = write
        self.known = [a and w for a, w in zip(known, waiting)]
        self.stale = [a and w for a, w in zip(stale, waiting)]
        self.picked, self.asked, self.released = picked, asked, released
        if rst:
            self.picked = self.asked = None
            self.known, self.stale = [False] * self.ports, [True] * self.ports


class GroupDevice:
    """hb_groups behind its links and registers. Wires are lists of levels, one for each port."""

    def __init__(self, ports, wires, stages, samples):
        self.groups, self.ports, self.wires = Groups(ports, 2**wires), ports, wires
        self.link = model.Link(ports, stages, samples)
        self.selects = [[0] * ports] * stages  # newest first
        self.rdata = self.status = self.was = self.enable = 0

    def outputs(self):
        return bits(self.groups.released), self.rdata, int(self.status & self.enable != 0)

    def read(self, address):
        groups = self.groups
        return {0x000: 0x48424731, 0x001: self.wires << 16 | self.ports, 0x002: bits(groups.released),
                0x003: int(groups.asked is not None), 0x004: self.status, 0x005: self.enable,
                0x300: bits(not s for s in groups.stale)}.get(address, 0)

    def clock(self, rst, pins, select, access):
        """`access`: None, or (whether it writes, address, data)."""
        write, address, data = access or (False, 0, 0)
        every = (1 << self.ports) - 1
        self.rdata = self.read(address)
        released = bits(self.groups.released)
        kept = self.status & ~data if write and address == 0x004 else self.status
        self.status, self.was = (0, 0) if rst else (kept | released ^ self.was, released)
        if rst or write and address == 0x005:
            self.enable = 0 if rst else data & every
        group = address - 0x800
        asked = (group, data & every) if write and 0 <= group < 2**self.wires else None
        level = self.link.out()
        self.groups.clock(rst, [level >> p & 1 for p in range(self.ports)], self.selects[-1], asked)
        self.link.clock(bits(pins))
        self.selects = [list(select), *self.selects[:-1]]


class Spi:
    """Frames of 48 bits behind two flip-flops; a read's answer is on the bus one clock after it was asked."""

    def __init__(self):
        self.first = self.second = (0, 0, 0)
        self.sck = self.count = self.word = self.answer = self.address = 0
        self.asks = self.writes = self.answers = False

    def clock(self, rst, wires, rdata):
        select, sck, mosi = self.second
        rise, fall = sck and not self.sck, self.sck and not sck
        answers, asks, writes = self.asks and not self.writes, False, self.writes
        count, word, address = self.count, self.word, self.address
        if rst or select:
            count = 0
        elif rise and count < 48:
            word = (word << 1 | mosi) & 0xFFFFFFFF
            count += 1
            if count == 16:
                writes, address = bool(word >> 15 & 1), word & 0xFFF
                asks = not writes
            if count == 48:
                asks = self.writes
        if self.answers:
            self.answer = rdata
        elif fall and self.count > 16:
            self.answer = self.answer << 1 & 0xFFFFFFFF
        self.first, self.second, self.sck = wires, self.first, sck
        self.count, self.word, self.address = count, word, address
        self.asks, self.writes, self.answers = asks, writes, answers


async def tick(dut):
    """One clock by hand, so that the very first counts: inputs settle, the edge, outputs settle."""
    dut.clk.value = 0
    await Timer(5, unit="ns")
    dut.clk.value = 1
    await Timer(5, unit="ns")


def bits(values):
    return sum(v << k for k, v in enumerate(values))


@cocotb.test(skip=CONFIG != "groups")
async def groups_are_as_the_model(dut):
    rng = random.Random(SEED)
    ports, wires = int(dut.P.value), int(dut.BITS.value)
    groups = Groups(ports, 2**wires)
    # What a dead job left at the ports counts for nothing.
    level, select, write = [rng.randrange(2) for _ in range(ports)], [0] * ports, None
    level[rng.randrange(ports)] = 1
    releases = 0
    for clock in range(CLOCKS):
        unwritten = clock < 3 * 2**wires  # memory has no power-on value: every group is written first
        rst = not unwritten and rng.random() < 0.01
        for p in range(ports):
            if not unwritten and rng.random() < 0.25:
                level[p] ^= rng.random() < 0.7
                select[p] = rng.randrange(2**wires) if rng.random() < 0.2 else select[p]
        if unwritten:
            write = (clock // 3, rng.randrange(1, 2**ports))
        else:
            # Often with a reset: such a write is lost, and the group is as it was.
            write = (rng.randrange(2**wires), rng.randrange(2**ports)) if rng.random() < (0.5 if rst else 0.03) else None
        dut.rst.value, dut.level.value = int(rst), bits(level)
        dut.select.value = sum(g << wires * p for p, g in enumerate(select))
        dut.group_write.value = write is not None
        dut.group_number.value, dut.group_members.value = write or (rng.randrange(2**wires), rng.randrange(2**ports))
        before = groups.released
        groups.clock(rst, level, select, write)
        releases += groups.released != before
        await tick(dut)
        shown = int(dut.released.value), int(dut.group_busy.value), int(dut.armed.value)
        expected = bits(groups.released), int(groups.asked is not None), bits(not s for s in groups.stale)
        assert shown == expected, f"seed {SEED}, clock {clock}: {shown}, not {expected}"
    assert releases > CLOCKS // 100
    cocotb.log.info(f"seed {SEED}: {CLOCKS} clocks, {releases} releases as the model")


@cocotb.test(skip=CONFIG != "group_device")
async def a_device_of_groups_is_as_the_model(dut):
    rng = random.Random(SEED)
    ports, wires = int(dut.P.value), int(dut.BITS.value)
    device = GroupDevice(ports, wires, int(dut.STAGES.value), int(dut.SAMPLES.value))
    pins, select, releases, follows = [rng.randrange(2) for _ in range(ports)], [0] * ports, 0, 0
    pins[rng.randrange(ports)] = 1  # what a dead job left at the wires counts for nothing
    addresses = [0x000, 0x001, 0x002, 0x003, 0x004, 0x005, 0x006, 0x300, 0x7FF, 0x800, 0x800 + 2**wires]
    for clock in range(CLOCKS):
        unwritten = clock < 4 * 2**wires
        rst = not unwritten and rng.random() < 0.004
        for p in range(ports):
            if not unwritten and rng.random() < 0.06:
                pins[p] ^= rng.random() < 0.7
                select[p] = rng.randrange(2**wires) if rng.random() < 0.2 else select[p]
        access = None
        if unwritten:  # memory has no power-on value
            access = (True, 0x800 + clock // 4, rng.randrange(1, 2**ports)) if clock % 4 == 0 else None
        elif follows or rng.random() < 0.01:  # another group in the next clocks may be lost, and BUSY says so
            access = (True, 0x800 + rng.randrange(2**wires), rng.randrange(2**ports))
            access = rng.choice([access, (False, 0x003, 0)]) if follows else access
            follows = follows - 1 if follows else 3
        elif rng.random() < 0.6:
            address = rng.choice(addresses)
            # The last address is no group's.
            writes = address < 0x800 and rng.random() < 0.3 or address > 0x800 and rng.random() < 0.05
            access = (writes, address, rng.getrandbits(32))
        write, address, data = access or (False, rng.choice(addresses), rng.getrandbits(32))
        dut.rst.value, dut.pin_in.value = int(rst), bits(pins)
        dut.select_in.value = sum(g << wires * p for p, g in enumerate(select))
        # An access that is none may well say that it writes.
        dut.bus_valid.value, dut.bus_write.value = int(access is not None), int(write) if access else rng.randrange(2)
        dut.bus_addr.value, dut.bus_wdata.value = address, data
        before = device.groups.released
        device.clock(rst, pins, select, (write, address, data))
        releases += device.groups.released != before
        await tick(dut)
        shown = int(dut.pin_out.value), int(dut.bus_rdata.value), int(dut.irq.value)
        assert shown == device.outputs(), f"seed {SEED}, clock {clock}: {shown}, not {device.outputs()}"
    assert releases > CLOCKS // 200, releases
    cocotb.log.info(f"seed {SEED}: {CLOCKS} clocks, {releases} releases as the model")


@cocotb.test(skip=CONFIG != "spi")
async def spi_is_as_the_model(dut):
    rng = random.Random(SEED)
    spi = Spi()
    wires, held, frames, bus = [0, 0, 0], 1, 0, 0  # cs_n low at power-on: a frame may be under way
    for clock in range(CLOCKS):
        held -= 1
        if clock < FIRST:  # a whole frame that writes: what was in the answer at power-on is seen to its last bit
            wires = [0, clock // 2 % 2, 1]
        elif held <= 0:  # mostly whole frames, at any speed; sometimes wires as they like
            wires[0] = (rng.random() < 0.3) if wires[0] else (rng.random() < 0.008)
            wires[1] ^= rng.random() < 0.9
            wires[2] = rng.randrange(2)
            held = rng.choice((1, 1, 2, 3))
        rst, rdata = clock > FIRST and rng.random() < 0.003, rng.getrandbits(32)
        dut.rst.value, dut.bus_rdata.value = int(rst), rdata
        dut.cs_n.value, dut.sck.value, dut.mosi.value = (int(w) for w in wires)
        spi.clock(rst, tuple(int(w) for w in wires), rdata)
        await tick(dut)
        shown = [int(w.value) for w in (dut.miso, dut.bus_valid, dut.bus_write, dut.bus_addr, dut.bus_wdata)]
        expected = [spi.answer >> 31, int(spi.asks), int(spi.writes), spi.address, spi.word]
        assert shown == expected, f"seed {SEED}, clock {clock}: {shown}, not {expected}"
        frames, bus = frames + (spi.count == 48), bus + spi.asks
    assert frames > 0 and bus > CLOCKS // 1000
    cocotb.log.info(f"seed {SEED}: {CLOCKS} clocks, {bus} accesses as the model")
