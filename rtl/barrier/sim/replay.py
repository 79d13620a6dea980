"""The model of model.py, clock by clock and wire by wire, under anything that may happen. That is ranks that keep the
protocol, glitches, any register access, and a parent that answers late or at random. It is also group writes and resets
in the middle of a barrier. `replay.v` holds the device to it."""

import functools
import random

import model

PROPER_WORDS = (0, 1, 2, 3, 4, 5)


class Stimulus:
    """Inputs of the next clock; `device` (the model) says what a rank would see."""

    def __init__(self, rng, device):
        self.rng, self.device = rng, device
        self.pins = rng.getrandbits(device.ports * device.barriers)
        self.parent, self.rst, self.glitch = 0, 2, 0
        self.queue = []  # register accesses to come
        for b in range(device.barriers):
            self.group(b)

    def group(self, b):
        """The words of a group: few members where there are many ports, so that barriers end."""
        ports = self.device.ports
        members = sum(1 << p for p in self.rng.sample(range(ports), self.rng.randrange(1, min(ports, 6) + 1)))
        words = list(range((ports + 31) // 32))
        self.rng.shuffle(words)
        self.queue += [(1, 0x200 + 8 * b + w, members >> 32 * w & 0xFFFFFFFF) for w in words]

    def chance(self, one_in):
        return self.rng.randrange(one_in) == 0

    def wires(self):
        d, rng = self.device, self.rng
        self.pins ^= self.glitch
        self.glitch = 0
        if self.chance(3):  # a rank arrives, or writes back
            self.pins ^= 1 << rng.randrange(d.ports * d.barriers)
        for b in range(d.barriers):
            if self.chance(24):  # everybody at once: to the level not yet released, or back to it
                every = (1 << d.ports) - 1
                level = d.down(b) ^ (not self.chance(4))
                self.pins = self.pins & ~(every << b * d.ports) | (every * level) << b * d.ports
                self.queue += [(1, 0x100 + p, 1 << b) for p in range(d.ports)
                               if d.bus_ports >> p & 1 and (d.levels[b] >> p & 1) != level]
        if self.chance(20):
            self.glitch = rng.getrandbits(d.ports * d.barriers)
            self.pins ^= self.glitch
        for b in range(d.barriers):
            if self.chance(10):
                self.parent = self.parent & ~(1 << b) | d.up[b] << b
        if self.chance(60):
            self.parent ^= 1 << rng.randrange(d.barriers)

    def access(self):
        rng, d = self.rng, self.device
        if self.queue:
            return (1, *self.queue.pop(0))
        kind = rng.randrange(12)
        b, p = rng.randrange(d.barriers), rng.randrange(d.ports)
        if kind == 0:
            return 1, 1, 0x100 + p, rng.getrandbits(32)
        if kind in (1, 2):
            return 1, 1, 4, rng.getrandbits(32)
        if kind == 3:
            return 1, 1, 5, rng.getrandbits(32)
        if kind == 4 and self.chance(8):
            self.group(b)
        if kind == 5:  # not an access: everything but `valid`, or a read with data
            return 0, 1, rng.choice((4, 5, 0x100 + p, 0x200 + 8 * b)), rng.getrandbits(32)
        if kind == 6 and self.chance(3):  # an address that is none
            return 1, int(self.chance(2)), rng.choice((rng.getrandbits(12) | 0x800, 6 + rng.getrandbits(3))), rng.getrandbits(32)
        address = rng.choice((*PROPER_WORDS, 0x100 + p, 0x200 + 8 * b + p // 32, 0x300 + 8 * b + p // 32))
        return 1, 0, address, rng.getrandbits(32)

    def next(self):
        self.rst = self.rst - 1 if self.rst else self.rng.choice((1, 1, 3)) * self.chance(250)
        self.wires()
        if self.rst and not self.queue:  # a job after a reset has its groups
            for b in range(self.device.barriers):
                self.group(b)
        valid, write, address, data = (0, 0, 0, 0) if self.rst else self.access()
        if self.rst and self.chance(2):  # a reset wins over a write
            valid, write, address, data = 1, 1, self.rng.choice((5, 0x200, 0x100)), self.rng.getrandbits(32)
        return int(self.rst > 0), self.pins, self.parent, valid, write, address, data


def trace(parameters, seed, clocks):
    """Of each clock the outputs before its rising edge and the inputs that this edge takes; at last what happened."""
    defaults = {"P": 4, "B": 1, "ROOT": 1, "ARM": 1, "STAGES": 2, "SAMPLES": 3, "BUS_PORTS": 0}
    device = model.Device(*{**defaults, **parameters}.values())
    stimulus = Stimulus(random.Random(seed), device)
    # Power-on values count: the first clocks read registers without a reset, the guard's at once.
    first = [0x300, 0x300, *range(6), 0x100 + max(device.bus_ports.bit_length() - 1, 0), 0x200, 0x300]
    shown, releases, interrupts, rises, lines = None, 0, 0, 0, []
    for clock in range(clocks):
        outputs = device.outputs()
        inputs = stimulus.next() if clock >= len(first) else (0, 0, 0, 1, 0, first[clock], 0)
        lines.append((outputs, inputs))
        releases += shown is not None and shown["pin_out"] != outputs["pin_out"]
        rises += shown is not None and shown["up_out"] != outputs["up_out"]
        interrupts += outputs["irq"]
        shown = outputs
        device.clock(*inputs)
    if min(releases, rises) <= clocks // 100 or not interrupts:
        raise ValueError(f"too little happens: {releases} releases, {rises} moves of up, irq high for {interrupts}")
    return device, lines, f"{clocks} clocks, {releases} releases, {rises} moves of up, irq high for {interrupts}"


@functools.lru_cache
def vectors(parameters, seed, clocks):
    """The trace as lines of $readmemh for replay.v, and what happened in it. parameters: pairs of name and value."""
    device, lines, note = trace(dict(parameters), seed, clocks)
    pins, barriers = device.ports * device.barriers, device.barriers
    widths = (1, pins, barriers, 1, 1, 12, 32, barriers, barriers, 32, 1)  # as replay.v takes them apart
    text = []
    for outputs, inputs in lines:
        word = 0
        for width, value in zip(widths, (*inputs, *outputs.values())):
            word = word << width | value
        text.append(f"{word:x}")
    return text, note
