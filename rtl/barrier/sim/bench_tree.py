"""Random arrival, jitter and glitches on a whole tree (hb_tree): no rank may leave a barrier before all have entered
it, every release must come within the proved bound, and every node must pass through every state and transition."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer

PERIOD_PS = 10_000
STATES = {(0, 0), (1, 0), (1, 1), (0, 1)}  # (up, down)
MOVES = {((0, 0), (1, 0)), ((1, 0), (1, 1)), ((1, 1), (0, 1)), ((0, 1), (0, 0))}


class Ranks:
    """All ranks' software: work for a while, toggle the pin, wait until the status equals it."""

    def __init__(self, rng, count, work):
        self.rng, self.count, self.work = rng, count, work
        self.pin = [0] * count
        self.left = [rng.randrange(1, work) for _ in range(count)]  # clocks of work left, 0 while waiting
        self.entered = [0] * count
        self.glitch = [0] * count  # clocks for which the pin still shows the wrong level
        self.calm = [0] * count  # clocks until the next glitch may come

    def step(self, status, glitches, samples):
        """One clock; returns the number of ranks released. Asserts that none of them is early."""
        released = [k for k in range(self.count) if self.left[k] == 0 and status[k] == self.pin[k]]
        if released:
            slowest = min(self.entered)
            for k in released:
                assert self.entered[k] <= slowest, f"rank {k} left barrier {self.entered[k]} early: {self.entered}"
                self.left[k] = self.rng.randrange(1, self.work)
        for k in range(self.count):
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

    def __init__(self, nodes):
        self.nodes, self.last = nodes, [(0, 0)] * nodes
        self.states = [{(0, 0)} for _ in range(nodes)]
        self.moves = [set() for _ in range(nodes)]

    def sample(self, up, down):
        for n in range(self.nodes):
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


@cocotb.test()
async def random_arrival(dut):
    seed, barriers = int(os.environ["HB_SEED"]), int(os.environ["HB_BARRIERS"])
    glitches = float(os.environ["HB_GLITCHES"])
    radix, depth = int(dut.RADIX.value), int(dut.DEPTH.value)
    stages, samples = int(dut.STAGES.value), int(dut.SAMPLES.value)
    leaves, nodes = radix**depth, (radix**depth - 1) // (radix - 1)
    rng = random.Random(seed)
    hop = stages + samples + 1
    # A glitch at the moment of arrival delays the level by at most the glitch and the filter window.
    bound = hop * (2 * depth - 1) + 1 + (2 * samples if glitches else 0)
    ranks, coverage = Ranks(rng, leaves, 6 * hop), Coverage(nodes)

    cocotb.start_soon(Clock(dut.clk, PERIOD_PS, unit="ps").start())
    dut.rst.value = 1
    dut.start.value = 0
    dut.member.value = (1 << leaves) - 1
    dut.pin_in.value = 0
    await FallingEdge(dut.clk)
    dut.rst.value = 0
    dut.start.value = (1 << nodes) - 1
    await FallingEdge(dut.clk)
    dut.start.value = 0
    for _ in range(2 * hop):
        await FallingEdge(dut.clk)

    done, waited, worst = 0, 0, 0
    while done < barriers * leaves:
        await RisingEdge(dut.clk)
        await Timer(rng.randrange(1, PERIOD_PS), unit="ps")  # arrivals fall anywhere in the clock's period
        out = int(dut.pin_out.value)
        coverage.sample(int(dut.up.value), int(dut.down.value))
        done += ranks.step([out >> k // radix & 1 for k in range(leaves)], glitches, samples)
        dut.pin_in.value = ranks.pins()
        waited = waited + 1 if not any(ranks.left) else 0
        worst = max(worst, waited)
        assert waited <= bound, f"all ranks have waited {waited} clocks, bound {bound}"
    states, moves = coverage.check()
    cocotb.log.info(
        f"seed {seed}: {leaves} ranks, {done} releases, slowest {worst} of {bound} clocks, "
        f"{nodes} nodes: {states} states and {moves} transitions covered (all)"
    )
