"""Whole boards through their pins (hb_board): register access over SPI, and H06's protocol on wires. One board alone,
and boards below a root, each with a clock of its own."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Timer

CONFIG = os.environ["HB_CONFIG"]
SEED = int(os.environ["HB_SEED"])
HALF_SCK_NS = 43  # clk is 10 ns; not a multiple, so that every phase occurs
SETTLE_NS = 200


def bit(value, k):
    return int(value) >> k & 1


async def frame(dut, write, address, data=0, board=0, bits=48, spare=0):
    """One SPI frame of `bits` bits and `spare` more; returns the 32 data bits read."""
    word, answer = (write << 47 | address << 32 | data) << spare | (1 << spare) - 1, 0
    every = (1 << len(dut.cs_n)) - 1
    dut.cs_n.value = every & ~(1 << board)
    for k in range(47 + spare, 47 + spare - bits - spare, -1):
        dut.mosi.value = word >> k & 1
        await Timer(HALF_SCK_NS, unit="ns")
        dut.sck.value = 1
        answer = answer << 1 | bit(dut.miso.value, board)
        await Timer(HALF_SCK_NS, unit="ns")
        dut.sck.value = 0
    await Timer(HALF_SCK_NS, unit="ns")
    dut.cs_n.value = every
    await Timer(2 * HALF_SCK_NS, unit="ns")
    return answer >> spare & 0xFFFFFFFF


def quiet(dut):
    dut.cs_n.value, dut.sck.value, dut.mosi.value = (1 << len(dut.cs_n)) - 1, 0, 0


@cocotb.test(skip=CONFIG != "one")
async def four_nodes(dut):
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    quiet(dut)
    dut.rst.value = dut.down_in.value = 0
    pins = 0b1000  # a dead job left node 3's wire high
    dut.pin_in.value = pins
    await Timer(SETTLE_NS, unit="ns")
    assert await frame(dut, 0, 0x000) == 0x48423031
    await frame(dut, 1, 0x200, 0b1111)
    await frame(dut, 1, 0x005, 1)
    assert await frame(dut, 0, 0x200) == 0b1111 and await frame(dut, 0, 0x300) == 0b0111
    level = int(dut.pin_out.value)
    pins = 0b1111 if level else 0  # every node writes the status back
    dut.pin_in.value = pins
    await Timer(SETTLE_NS, unit="ns")
    assert await frame(dut, 0, 0x300) == 0b1111
    for barrier in range(4):
        for node in (2, 0, 3, 1):
            assert int(dut.pin_out.value) == level, f"barrier {barrier}: released before node {node} arrived"
            pins ^= 1 << node
            dut.pin_in.value = pins
            await Timer(100, unit="ns")
        level ^= 1
        assert int(dut.pin_out.value) == level and int(dut.irq.value) == 1
        assert await frame(dut, 0, 0x002) == level
        await frame(dut, 1, 0x004, 1)
        assert int(dut.irq.value) == 0


@cocotb.test(skip=CONFIG != "registers")
async def any_frame(dut):
    """Random frames: whole ones read and write what they say, broken ones nothing, bits beyond the 48th nothing."""
    rng = random.Random(SEED)
    ports, barriers = int(dut.P.value), int(dut.B.value)
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    quiet(dut)
    dut.rst.value = dut.down_in.value = dut.pin_in.value = 0
    await Timer(10, unit="ns")  # no time for a reset: power-on values
    fixed = {0x000: 0x48423031, 0x001: 0x2000000 | int(dut.ROOT.value) << 24 | barriers << 16 | ports}
    kept = {0x005: 0, **{0x200 + 8 * b + w: 0 for b in range(barriers) for w in range((ports + 31) // 32)}}
    mask = {address: (1 << barriers) - 1 if address == 0x005 else (1 << ports) - 1 for address in kept}
    for _ in range(40):
        address = rng.choice(list(kept))
        data, spare = rng.getrandbits(32), rng.choice((0, 0, 1, 5, 40))
        kind = rng.randrange(4)
        if kind == 0:
            await frame(dut, 1, address, data, spare=spare)
            kept[address] = data & mask[address]
        elif kind == 1:
            await frame(dut, 1, address, data, bits=rng.randrange(1, 48))
        else:
            address, value = rng.choice(list({**kept, **fixed}.items()))
            read = await frame(dut, 0, address, data, spare=spare)
            assert read == value, f"seed {SEED}: {address:#05x} reads {read:#x}, not {value:#x}"
    for address, value in kept.items():
        assert await frame(dut, 0, address) == value
    cocotb.log.info(f"seed {SEED}: {len(kept)} registers")


@cocotb.test(skip=CONFIG != "locked")
async def a_clock_that_is_not_steady_at_first(dut):
    """Nothing that happens before the clock is steady remains, nor after it was lost: registers, levels, SPI frames."""
    ports = (1 << int(dut.N.value)) - 1
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    quiet(dut)
    dut.down_in.value = dut.from_node.value = dut.lock.value = 0

    async def steady(is_steady):
        dut.lock.value = is_steady
        await Timer(SETTLE_NS, unit="ns")

    async def toggle(level):
        """All nodes arrive; the release comes with the last."""
        for node in range(int(dut.N.value)):
            assert int(dut.to_node.value) == (0 if level else ports)
            dut.from_node.value = int(dut.from_node.value) ^ 1 << node
            await Timer(SETTLE_NS, unit="ns")
        assert int(dut.to_node.value) == (ports if level else 0)

    for _ in range(2):
        await steady(0)
        await frame(dut, 1, 0x200, ports)
        assert await frame(dut, 0, 0x200) == 0, "a write before the clock was steady"
        await steady(1)
        assert await frame(dut, 0, 0x000) == 0x48423031 and await frame(dut, 0, 0x200) == 0
        await frame(dut, 1, 0x005, 1)
        await frame(dut, 1, 0x200, ports)
        await Timer(SETTLE_NS, unit="ns")
        await toggle(1)
        assert int(dut.irq.value) == 1 and await frame(dut, 0, 0x004) == 1
        await steady(0)
        assert int(dut.irq.value) == 0 and int(dut.to_node.value) == 0, "a reset leaves the start-up state"
        dut.from_node.value = 0
    # A frame that the loss cuts writes nothing, though its other half comes after.
    await steady(1)
    dut.cs_n.value = 0
    for k in range(47, -1, -1):
        if k == 20:
            await steady(0)
            await steady(1)
        dut.mosi.value = (1 << 47 | 0x200 << 32 | ports) >> k & 1
        for level in (1, 0):
            await Timer(HALF_SCK_NS, unit="ns")
            dut.sck.value = level
    quiet(dut)
    await Timer(SETTLE_NS, unit="ns")
    assert await frame(dut, 0, 0x200) == 0


async def rank(dut, boards, board, barrier, port, count, entered, rng):
    """H06's protocol on one pair of wires, after the write-back, at this rank's own speed."""
    place = board * boards.barriers * boards.ports + barrier * boards.ports + port

    def seen():
        return bit(dut.pin_out.value, board * boards.barriers + barrier)

    def show(level):
        boards.pins = boards.pins & ~(1 << place) | level << place
        dut.pin_in.value = boards.pins

    level = seen()
    show(level)
    await Timer(SETTLE_NS, unit="ns")
    for n in range(1, count + 1):
        await Timer(rng.randrange(1, 400), unit="ns")
        level ^= 1
        entered[barrier][board, port] = n
        show(level)
        for _ in range(500):
            await Timer(rng.randrange(5, 40), unit="ns")
            if seen() == level:
                break
        else:
            raise AssertionError(f"seed {SEED}: board {board} port {port} waits in barrier {barrier} of {entered[barrier]}")
        late = [who for who, at in entered[barrier].items() if at < n]
        assert not late, f"seed {SEED}: board {board} port {port} left before {late} arrived"


class Boards:
    def __init__(self, dut):
        self.ports, self.barriers, self.inner = int(dut.P.value), int(dut.B.value), int(dut.INNER.value)
        self.pins = 0


@cocotb.test(skip=CONFIG != "tree")
async def boards_below_a_root(dut):
    """Two jobs, the second over whatever the first left: groups over all boards or some, GROUP written in any order."""
    rng = random.Random(SEED)
    boards = Boards(dut)
    # One clock a board, apart by a few per mille: edges drift past each other.
    for wire, period in ((dut.root_clk, 10_000), (dut.a_clk, 9_970), (dut.b_clk, 10_040)):
        cocotb.start_soon(Clock(wire, period, unit="ps").start())
    quiet(dut)
    boards.pins = rng.getrandbits(boards.inner * boards.barriers * boards.ports)
    dut.pin_in.value = boards.pins
    await Timer(SETTLE_NS, unit="ns")
    done = 0
    for _ in range(2):
        entered, members = [], []
        for b in range(boards.barriers):
            # Whole boards may have no member: the root must not wait for them.
            there = rng.sample(range(boards.inner), rng.randrange(1, boards.inner + 1))
            members.append([(n, p) for n in there for p in rng.sample(range(boards.ports), rng.randrange(1, boards.ports + 1))])
            entered.append({who: 0 for who in members[b]})
            writes = [(0, sum(1 << n for n in there))]
            writes += [(n + 1, sum(1 << p for m, p in members[b] if m == n)) for n in range(boards.inner)]
            rng.shuffle(writes)
            for board, mask in writes:
                await frame(dut, 1, 0x200 + 8 * b, mask, board=board)
        for n in range(boards.inner + 1):
            await frame(dut, 1, 0x005, (1 << boards.barriers) - 1, board=n)
            await frame(dut, 1, 0x004, 0xFFFFFFFF, board=n)
        await Timer(SETTLE_NS, unit="ns")
        assert int(dut.irq.value) == 0
        counts = [rng.randrange(3, 6) for _ in range(boards.barriers)]
        tasks = [cocotb.start_soon(rank(dut, boards, *who[:1], b, who[1], counts[b], entered, random.Random(rng.random())))
                 for b in range(boards.barriers) for who in members[b]]
        for task in tasks:
            await task
        await Timer(SETTLE_NS, unit="ns")
        for n in range(boards.inner + 1):
            want = (1 << boards.barriers) - 1
            assert await frame(dut, 0, 0x004, board=n) == want and bit(dut.irq.value, n), f"board {n} told no release"
            up, status = await frame(dut, 0, 0x003, board=n), await frame(dut, 0, 0x002, board=n)
            have = sum(1 << b for b in range(boards.barriers) if n == 0 or any(m == n - 1 for m, _ in members[b]))
            assert (up ^ status) & have == 0, f"board {n}: up {up:b}, released {status:b}"
        done += sum(counts)
        # The job ends; what its wires then show is anything, at rest.
        boards.pins = rng.getrandbits(boards.inner * boards.barriers * boards.ports)
        dut.pin_in.value = boards.pins
        await Timer(2 * SETTLE_NS, unit="ns")
    cocotb.log.info(f"seed {SEED}: {done} barriers on {boards.inner} boards below a root")



async def group_rank(dut, port, plan, wires, entered, rng):
    """H06's protocol on a port that selects a group for each barrier; `plan`: the groups and their members, in order."""
    bits = int(dut.BITS.value)

    async def show(level, group=None):
        wires["pins"] = wires["pins"] & ~(1 << port) | level << port
        if group is not None:
            wires["select"] = wires["select"] & ~((1 << bits) - 1 << port * bits) | group << port * bits
        dut.select_in.value, dut.pin_in.value = wires["select"], wires["pins"]

    level, visits = bit(dut.pin_out.value, port), {}
    await show(level)
    await Timer(SETTLE_NS, unit="ns")
    for group, members in plan:
        await Timer(rng.randrange(1, 300), unit="ns")
        level ^= 1
        visits[group] = visits.get(group, 0) + 1
        entered[group, port] = visits[group]
        await show(level, group)
        for _ in range(2000):
            await Timer(rng.randrange(5, 40), unit="ns")
            if bit(dut.pin_out.value, port) == level:
                break
        else:
            raise AssertionError(f"seed {SEED}: port {port} waits in group {group} of {members}")
        late = [m for m in members if entered.get((group, m), 0) < visits[group]]
        assert not late, f"seed {SEED}: port {port} left group {group} before {late} arrived"


@cocotb.test(skip=CONFIG != "groups")
async def many_groups_over_spi(dut):
    """Groups by wires on a whole board: members over SPI, ARMED, interrupts, a second job over what the first left."""
    rng = random.Random(SEED)
    ports, bits = int(dut.P.value), int(dut.BITS.value)
    every = (1 << ports) - 1
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    quiet(dut)
    wires = {"pins": every - 1, "select": rng.getrandbits(ports * bits)}  # a dead job's
    dut.rst.value, dut.pin_in.value, dut.select_in.value = 0, wires["pins"], wires["select"]
    await Timer(SETTLE_NS, unit="ns")
    assert await frame(dut, 0, 0x000) == 0x48424731 and await frame(dut, 0, 0x001) == bits << 16 | ports
    for job in range(2):
        members = {0: every, 2**bits - 1: every}
        while len(members) < min(8, 2**bits):
            members[rng.randrange(2**bits)] = rng.randrange(1, every + 1)
        for group, mask in members.items():
            await frame(dut, 1, 0x800 + group, mask)
        at_rest = ~(wires["pins"] ^ int(dut.pin_out.value)) & every
        assert await frame(dut, 0, 0x300) == at_rest, "ARMED shows those at rest"
        await frame(dut, 1, 0x004, every)
        await frame(dut, 1, 0x005, 1)
        assert int(dut.irq.value) == 0
        order = [rng.choice(list(members)) for _ in range(30)]
        whole = {group: [p for p in range(ports) if mask >> p & 1] for group, mask in members.items()}
        entered = {}
        tasks = [cocotb.start_soon(group_rank(dut, p, [(g, whole[g]) for g in order if p in whole[g]], wires, entered,
                                              random.Random(SEED + p))) for p in range(ports)]
        for task in tasks:
            await task
        assert await frame(dut, 0, 0x300) == every and await frame(dut, 0, 0x002) == int(dut.pin_out.value)
        assert await frame(dut, 0, 0x004) & 1 == int(dut.irq.value) == 1
        await frame(dut, 1, 0x004, every)
        assert int(dut.irq.value) == 0 and await frame(dut, 0, 0x005) == 1
        if job == 0:  # a reset forgets who is armed and what is enabled, not the INs
            shown = int(dut.pin_out.value)
            wires["pins"] ^= every
            dut.pin_in.value, dut.rst.value = wires["pins"], 1
            await Timer(SETTLE_NS, unit="ns")
            dut.rst.value = 0
            await Timer(SETTLE_NS, unit="ns")
            assert int(dut.pin_out.value) == shown, "a reset moved an IN"
            assert await frame(dut, 0, 0x005) == 0 and await frame(dut, 0, 0x300) == 0
            # A frame that a reset cuts writes nothing, though its other half comes after.
            dut.cs_n.value = 0
            for k in range(47, -1, -1):
                dut.rst.value = k == 20
                dut.mosi.value = (1 << 47 | 0x005 << 32 | every) >> k & 1
                for level in (1, 0):
                    await Timer(HALF_SCK_NS, unit="ns")
                    dut.sck.value = level
            quiet(dut)
            await Timer(SETTLE_NS, unit="ns")
            assert await frame(dut, 0, 0x005) == 0, "a frame that a reset cut"
    cocotb.log.info(f"seed {SEED}: 60 barriers in {2**bits} groups")
