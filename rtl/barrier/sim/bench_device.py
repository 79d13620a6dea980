"""One device behind its register bus (hb_device): masks, independent barriers, interrupts, bus hosts with pin hosts,
and glitches. Also the start-up with stale pins, on the guarded machine and on H06's bare one."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

ID, CONFIG, STATUS, UP, IRQ_STATUS, IRQ_ENABLE = range(6)
TOGGLE, GROUP, ARMED = 0x100, 0x200, 0x300
SETTLE = 12  # clocks, more than synchroniser, filter and machine take


class Device:
    def __init__(self, dut):
        self.dut, self.pins = dut, 0
        self.ports, self.barriers = int(dut.P.value), int(dut.B.value)

    async def begin(self, pins=0):
        cocotb.start_soon(Clock(self.dut.clk, 10, unit="ns").start())
        self.pins = pins
        for name in ("bus_valid", "bus_write", "bus_addr", "bus_wdata", "down_in"):
            getattr(self.dut, name).value = 0
        self.dut.pin_in.value = pins
        self.dut.rst.value = 1
        await self.clocks(2)
        self.dut.rst.value = 0
        await self.clocks(SETTLE)

    async def clocks(self, count):
        for _ in range(count):
            await FallingEdge(self.dut.clk)

    async def write(self, address, value):
        self.dut.bus_valid.value, self.dut.bus_write.value = 1, 1
        self.dut.bus_addr.value, self.dut.bus_wdata.value = address, value
        await FallingEdge(self.dut.clk)
        self.dut.bus_valid.value, self.dut.bus_write.value = 0, 0

    async def read(self, address):
        self.dut.bus_valid.value, self.dut.bus_write.value, self.dut.bus_addr.value = 1, 0, address
        await FallingEdge(self.dut.clk)
        self.dut.bus_valid.value = 0
        return int(self.dut.bus_rdata.value)

    def set_pin(self, barrier, port, level):
        bit = 1 << (barrier * self.ports + port)
        self.pins = self.pins | bit if level else self.pins & ~bit
        self.dut.pin_in.value = self.pins

    def out(self, barrier=0):
        return int(self.dut.pin_out.value) >> barrier & 1


@cocotb.test(skip=os.environ["HB_CONFIG"] != "guarded")
async def registers(dut):
    device = Device(dut)
    await device.begin()
    assert await device.read(ID) == 0x48423031
    config = await device.read(CONFIG)
    assert (config & 0xFFFF, config >> 16 & 0xFF, config >> 24 & 3) == (device.ports, device.barriers, 3)
    await device.write(IRQ_ENABLE, 0b101)
    assert await device.read(IRQ_ENABLE) == 0b101
    for b in range(device.barriers):
        await device.write(GROUP + 8 * b, 0b11 << b)
        assert await device.read(GROUP + 8 * b) == 0b11 << b
    assert await device.read(0x0FF) == 0 and await device.read(0xFFF) == 0


@cocotb.test(skip=os.environ["HB_CONFIG"] != "guarded")
async def barriers_with_masks_and_interrupts(dut):
    """Each barrier has random members of its own; ports 0 and 1 are bus hosts, the others are on pins."""
    seed = int(os.environ["HB_SEED"])
    rng = random.Random(seed)
    device = Device(dut)
    await device.begin()
    ports, barriers = device.ports, device.barriers
    bus = int(dut.BUS_PORTS.value)
    level = [[0] * ports for _ in range(barriers)]
    groups = [rng.sample(range(ports), rng.randrange(1, ports + 1)) for _ in range(barriers)]
    for b, group in enumerate(groups):
        await device.write(GROUP + 8 * b, sum(1 << p for p in group))
    await device.write(IRQ_ENABLE, (1 << barriers) - 1)
    await device.clocks(SETTLE)
    for b in range(barriers):
        assert await device.read(ARMED + 8 * b) == (1 << ports) - 1
    for _ in range(int(os.environ["HB_BARRIERS"])):
        b = rng.randrange(barriers)
        before = [device.out(k) for k in range(barriers)]
        order = rng.sample(groups[b], len(groups[b]))
        for k, p in enumerate(order):
            outsider = rng.randrange(ports)
            if outsider not in groups[b] and not bus >> outsider & 1:  # an outsider's pin does nothing
                level[b][outsider] ^= 1
                device.set_pin(b, outsider, level[b][outsider])
            await device.clocks(rng.randrange(1, SETTLE))
            assert device.out(b) == before[b], f"seed {seed}: barrier {b} released with {order[k:]} missing"
            level[b][p] ^= 1
            if bus >> p & 1:
                await device.write(TOGGLE + p, 1 << b)
                assert await device.read(TOGGLE + p) >> b & 1 == level[b][p]
            else:
                device.set_pin(b, p, level[b][p])
        await device.clocks(SETTLE)
        after = [device.out(k) for k in range(barriers)]
        assert after == [before[k] ^ (k == b) for k in range(barriers)], f"seed {seed}: {before} -> {after}"
        assert await device.read(STATUS) == sum(v << k for k, v in enumerate(after))
        assert dut.irq.value == 1 and await device.read(IRQ_STATUS) == 1 << b
        await device.write(IRQ_STATUS, 1 << b)
        await device.clocks(1)
        assert dut.irq.value == 0
    cocotb.log.info(f"seed {seed}: groups {groups}")


@cocotb.test(skip=os.environ["HB_CONFIG"] != "guarded")
async def glitches_are_rejected(dut):
    """Pulses up to one clock shorter than the filter, on every pin at once, release nothing; one clock more does."""
    device = Device(dut)
    await device.begin()
    samples = int(dut.SAMPLES.value)
    members = [p for p in range(device.ports) if not int(dut.BUS_PORTS.value) >> p & 1]
    await device.write(GROUP, sum(1 << p for p in members))
    await device.clocks(SETTLE)
    for length in range(1, samples + 1):
        for p in members:
            device.set_pin(0, p, 1)
        await device.clocks(length)
        for p in members:
            device.set_pin(0, p, 0)
        released = False
        for _ in range(SETTLE):
            await device.clocks(1)
            released |= device.out(0) == 1
        assert released == (length >= samples), f"a pulse of {length} clocks: released = {released}"


async def stale_pin_then_h06(device, write_back):
    """Port 3's job died with its pin high. Ports 0..2 run H06's protocol: read status, toggle, write, read.
    Returns True if they are released although port 3's rank has not arrived."""
    ranks = range(device.ports)
    status = device.out(0)  # step 1: read the status
    for p in list(ranks)[:-1]:
        if write_back:
            device.set_pin(0, p, status)
    await device.clocks(SETTLE)
    for p in list(ranks)[:-1]:
        device.set_pin(0, p, status ^ 1)  # steps 2 and 3: toggle, write
    await device.clocks(SETTLE)
    return device.out(0) != status  # step 4: read


@cocotb.test(skip=os.environ["HB_CONFIG"] != "bare")
async def h06_as_printed_is_released_early(dut):
    """The hazard, kept: the bare machine and H06's slide 15 release the others before the fourth rank arrives."""
    device = Device(dut)
    await device.begin()
    await device.write(GROUP, (1 << device.ports) - 1)
    device.set_pin(0, device.ports - 1, 1)  # the stale pin
    await device.clocks(SETTLE)
    assert await stale_pin_then_h06(device, write_back=False), "the bare machine should have shown the hazard"


@cocotb.test(skip=os.environ["HB_CONFIG"] != "guarded-pins")
async def guarded_start_waits_for_the_stale_port(dut):
    device = Device(dut)
    last = device.ports - 1
    await device.begin(pins=1 << last)
    await device.write(GROUP, (1 << device.ports) - 1)
    await device.clocks(SETTLE)
    assert await device.read(ARMED) == (1 << last) - 1, "all but the stale port are armed"
    assert not await stale_pin_then_h06(device, write_back=True), "released early"
    device.set_pin(0, last, 0)  # the late rank: write the status back, hold, arrive
    await device.clocks(SETTLE)
    assert device.out(0) == 0 and await device.read(ARMED) == (1 << device.ports) - 1
    device.set_pin(0, last, 1)
    await device.clocks(SETTLE)
    assert device.out(0) == 1
    # A new job on the same device, the pins all high: still nobody is early.
    await device.write(GROUP, (1 << device.ports) - 1)
    device.set_pin(0, last, 0)  # stale the other way round
    await device.clocks(SETTLE)
    device.set_pin(0, last, 1)
    await device.clocks(SETTLE)
    assert device.out(0) == 1 and not await stale_pin_then_h06(device, write_back=True)
