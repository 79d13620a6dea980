"""Random arrival, jitter and glitches on a whole tree (hb_tree). No rank may leave a barrier before all have entered
it, and every release must come within the proved bound. Every node must pass through every state and transition."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer

PERIOD_PS = 10_000
STATES = {(0, 0), (1, 0), (1, 1), (0, 1)}  # (up, down)
MOVES = {((0, 0), (1, 0)), ((1, 0), (1, 1)), ((1, 1), (0, 1)), ((0, 1), (0, 0))}


class Ranks:
    """The members' software: work for a while, toggle the pin, wait until the status equals it. Other pins stay."""

    def __init__(self, rng, pins, members, work):
        count = len(pins)
        self.rng, self.count, self.work, self.members = rng, count, work, members
        self.pin = pins
        self.left = [rng.randrange(1, work) for _ in range(count)]  # clocks of work left, 0 while waiting
        self.entered = [0] * count
        self.glitch = [0] * count  # clocks for which the pin still shows the wrong level
        self.calm = [0] * count  # clocks until the next glitch may come

    def step(self, status, glitches, samples):
        """One clock; returns the number of ranks released. Asserts that none of them is early."""
        released = [k for k in self.members if self.left[k] == 0 and status[k] == self.pin[k]]
        if released:
            slowest = min(self.entered[k] for k in self.members)
            for k in released:
                assert self.entered[k] <= slowest, f"rank {k} left barrier {self.entered[k]} early: {self.entered}"
                self.left[k] = self.rng.randrange(1, self.work)
        for k in self.members:
            if self.left[k] > 0:
                self.left[k] -= 1
                if self.left[k] == 0:
                    self.pin[k] ^= 1
                    self.entered[k] += 1
            self.glitch[k] = max(0, self.glitch[k] - 1)
            self.calm[k] = max(0, self.calm[k] - 1)
            if glitches and self.calm[k] == 0 and self.rng.random() < glitches:
                self.glitch[k] = self.rng.randrange(1, samples)
                self.calm[k] = 2 * samples + 2
        return len(released)

    def pins(self):
        return sum((self.pin[k] ^ (self.glitch[k] > 0)) << k for k in range(self.count))


class Coverage:
    """Which (up, down) states and moves each node has shown; anything else is an error."""

    def __init__(self, nodes, radix, hop):
        self.nodes, self.radix, self.hop, self.last = nodes, radix, hop, None
        self.clock, self.moved = 0, {}  # when each node's release last moved
        self.states = [set() for _ in range(nodes)]
        self.moves = [set() for _ in range(nodes)]

    def begin(self, up, down, present):
        """A job begins. Events between jobs do not count, nor do nodes without a member (they show the parent's answers
        and ask for nothing)."""
        self.present = present
        self.last = [(up >> n & 1, down >> n & 1) for n in range(self.nodes)]
        for n in present:
            self.states[n].add(self.last[n])

    def sample(self, up, down):
        self.clock += 1
        for n in self.present:
            if down >> n & 1 != self.last[n][1]:
                # A release goes down level by level: a link and a register each.
                late = self.clock - self.moved.get((n - 1) // self.radix, 0)
                assert n == 0 or late == self.hop, f"node {n} was released {late} clocks after its parent, not {self.hop}"
                self.moved[n] = self.clock
            state = (up >> n & 1, down >> n & 1)
            if state == self.last[n]:
                continue
            move = (self.last[n], state)
            legal = {((0, 0), (1, 1)), ((1, 1), (0, 0))} if n == 0 else MOVES
            assert move in legal, f"node {n} went {move[0]} -> {move[1]}"
            self.states[n].add(state)
            self.moves[n].add(move)
            self.last[n] = state

    def check(self):
        for n in range(1, self.nodes):
            assert self.states[n] == STATES, f"node {n}: states never seen: {STATES - self.states[n]}"
            assert self.moves[n] == MOVES, f"node {n}: transitions never seen: {MOVES - self.moves[n]}"
        assert self.nodes == 0 or self.states[0] == {(0, 0), (1, 1)}
        return sum(map(len, self.states)), sum(map(len, self.moves))


async def start(dut, rng, nodes, leaves, members, reset):
    """A launcher's writes over whatever the last job left: every device's group, in any order, perhaps a reset."""
    if reset:
        dut.rst.value = 1
        await FallingEdge(dut.clk)
        dut.rst.value = 0
        assert int(dut.up.value) == 0 and int(dut.down.value) == 0, "a reset left a node's state"
    dut.member.value = sum(1 << k for k in members)
    for n in rng.sample(range(nodes), nodes) if nodes < 30 else [None]:
        dut.start.value = (1 << nodes) - 1 if n is None else 1 << n
        await FallingEdge(dut.clk)
    dut.start.value = 0


@cocotb.test()
async def random_arrival(dut):
    """Jobs one after the other. The first has all ranks. Later ones have some, so that whole subtrees may be absent,
    and start over pins in any state that the job before left."""
    seed, barriers = int(os.environ["HB_SEED"]), int(os.environ["HB_BARRIERS"])
    glitches = float(os.environ["HB_GLITCHES"])
    radix, depth = int(dut.RADIX.value), int(dut.DEPTH.value)
    stages, samples = int(dut.STAGES.value), int(dut.SAMPLES.value)
    leaves, nodes = radix**depth, (radix**depth - 1) // (radix - 1)
    rng = random.Random(seed)
    hop = stages + samples + 1
    # A glitch at the moment of arrival delays the level by at most the glitch and the filter window.
    bound = hop * (2 * depth - 1) + 1 + (2 * samples if glitches else 0)
    coverage = Coverage(nodes, radix, hop)
    pins = [rng.randrange(2) for _ in range(leaves)]
    done, worst = 0, 0

    def shown():
        out = int(dut.pin_out.value)
        return [out >> k // radix & 1 for k in range(leaves)]

    cocotb.start_soon(Clock(dut.clk, PERIOD_PS, unit="ps").start())
    dut.rst.value = dut.start.value = dut.member.value = 0
    for job in range(3):
        members = list(range(leaves))
        if job:
            # Some subtrees of the root, some ranks of each: down to one rank.
            there = rng.sample(range(radix), rng.randrange(1, radix))
            part = leaves // radix
            members = [k for k in members if k // part in there]
            members = sorted(rng.sample(members, rng.randrange(1, len(members) + 1)))
        dut.pin_in.value = sum(level << k for k, level in enumerate(pins))
        for _ in range(3 * hop * depth):
            await FallingEdge(dut.clk)
        await start(dut, rng, nodes, leaves, members, reset=job != 1)
        for _ in range(3 * hop * depth):
            await FallingEdge(dut.clk)
        # Each rank writes back and holds; the stale pins of those who are no members stay.
        for k in members:
            pins[k] = shown()[k]
        dut.pin_in.value = sum(level << k for k, level in enumerate(pins))
        # What stale pins had claimed is taken back level by level: nothing is judged before that has reached the root.
        for _ in range(2 * hop * depth):
            await FallingEdge(dut.clk)
        ranks = Ranks(rng, pins, members, 6 * hop)
        first = nodes - radix ** (depth - 1)
        present = {first + k // radix for k in members}
        for n in range(nodes - 1, 0, -1):
            present |= {(n - 1) // radix} if n in present else set()
        coverage.begin(int(dut.up.value), int(dut.down.value), present)
        released, waited = 0, 0
        # The second job ends at level 1, so that the reset after it has something to do.
        while released < (barriers if job == 0 else 4) * len(members) or (job == 1 and not int(dut.down.value) & 1):
            await RisingEdge(dut.clk)
            await Timer(rng.randrange(1, PERIOD_PS), unit="ps")  # arrivals fall anywhere in the clock's period
            coverage.sample(int(dut.up.value), int(dut.down.value))
            released += ranks.step(shown(), glitches, samples)
            dut.pin_in.value = ranks.pins()
            waited = waited + 1 if not any(ranks.left[k] for k in members) else 0
            worst = max(worst, waited)
            assert waited <= bound, f"all ranks have waited {waited} clocks, bound {bound}"
        done += released
        # The job dies anywhere between two barriers.
        pins = [level if k in members and rng.randrange(2) else rng.randrange(2) for k, level in enumerate(pins)]
        await FallingEdge(dut.clk)
    states, moves = coverage.check()
    cocotb.log.info(
        f"seed {seed}: {leaves} ranks, {done} releases, slowest {worst} of {bound} clocks, "
        f"{nodes} nodes: {states} states and {moves} transitions covered (all)"
    )
