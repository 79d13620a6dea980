"""The outputs of one device in every clock, written from docs/barrier.md and apart from the Verilog. Wires are bits of
integers: barrier b's port p is bit b*P+p, as at the device's pins."""


class Link:
    """STAGES clocks of synchroniser; then a new level shows after SAMPLES equal samples in a row."""

    def __init__(self, width, stages, samples):
        self.ones, self.stages, self.samples = (1 << width) - 1, stages, samples
        self.history = [0] * (stages + samples)  # newest first
        self.filtered = 0

    def out(self):
        return self.filtered if self.samples else self.history[self.stages - 1]

    def clock(self, wires):
        if self.samples:
            window = self.history[self.stages - 1 : self.stages - 1 + self.samples]
            same_1, same_0 = self.ones, self.ones
            for sample in window:
                same_1 &= sample
                same_0 &= ~sample
            self.filtered = (self.filtered | same_1) & ~same_0
        self.history = [wires, *self.history[:-1]]


class Device:
    def __init__(self, ports, barriers, root, arm, stages, samples, bus_ports):
        self.ports, self.barriers, self.root, self.arm, self.bus_ports = ports, barriers, root, arm, bus_ports
        self.pins = Link(ports * barriers, stages, samples)
        self.parent = Link(barriers, stages, samples)
        self.every = (1 << ports) - 1
        self.rdata = 0
        self.reset()

    def reset(self):
        self.member = [0] * self.barriers
        self.levels = [0] * self.barriers  # of the hosts on the bus
        self.armed = [0] * self.barriers
        self.up = [0] * self.barriers
        self.released = [0] * self.barriers
        self.start = [False] * self.barriers
        self.was_down, self.status, self.enable = 0, 0, 0

    def down(self, b):
        return self.up[b] if self.root else self.released[b]

    def bits(self, values):
        return sum(v << b for b, v in enumerate(values))

    def outputs(self):
        return {"pin_out": self.bits(self.down(b) for b in range(self.barriers)), "up_out": self.bits(self.up),
                "bus_rdata": self.rdata, "irq": int(self.status & self.enable != 0)}

    def armed_word(self, b):
        return self.armed[b] if self.arm else self.every

    def read(self, address):
        down = self.bits(self.down(b) for b in range(self.barriers))
        fixed = [0x48423031, self.arm << 25 | self.root << 24 | self.barriers << 16 | self.ports, down,
                 self.bits(self.up), self.status, self.enable]
        if address < len(fixed):
            return fixed[address]
        kind, rest = address >> 8, address & 0xFF
        if kind == 1 and rest < self.ports and self.bus_ports >> rest & 1:
            return self.bits(self.levels[b] >> rest & 1 for b in range(self.barriers))
        b, word = divmod(rest, 8)
        if kind in (2, 3) and b < self.barriers:
            return (self.member[b] if kind == 2 else self.armed_word(b)) >> 32 * word & 0xFFFFFFFF
        return 0

    def clock(self, rst, pins, parent, valid, write, address, data):
        """One rising edge with these inputs."""
        self.rdata = self.read(address)
        self.status, self.was_down, now = self.irq_next(valid and write and address == 4, data)
        level, answer = self.pins.out(), self.parent.out()
        for b in range(self.barriers):
            self.node(b, level >> b * self.ports & self.every, answer >> b & 1)
        if valid and write:
            self.host(address, data, now)
        else:
            self.begin(None, now)
        self.pins.clock(pins)
        self.parent.clock(parent)
        if rst:
            self.reset()

    def irq_next(self, clears, data):
        now = [self.down(b) for b in range(self.barriers)]
        changed = self.bits(now) ^ self.was_down
        kept = self.status & ~data if clears else self.status
        return kept | changed, self.bits(now), now

    def node(self, b, level, answer):
        level = self.levels[b] & self.bus_ports | level & ~self.bus_ports
        down, member = self.down(b), self.member[b]
        idle = self.every if down else 0
        counted = level & self.armed_word(b) | idle & ~self.armed_word(b)
        arrived = [p for p in range(self.ports) if member >> p & 1 and (counted >> p & 1) != self.up[b]]
        if self.start[b]:
            self.up[b], self.armed[b] = down, 0
        else:
            if member and len(arrived) == bin(member).count("1"):
                self.up[b] ^= 1
            elif not member:
                self.up[b] = 0
            self.armed[b] |= self.every & ~(level ^ idle)
        self.released[b] = answer

    def begin(self, group, now):
        """A start takes the bus hosts' levels back to the released one; a group's write starts it in the next clock."""
        for b in range(self.barriers):
            if self.start[b]:
                self.levels[b] = self.bus_ports if now[b] else 0
            self.start[b] = b == group

    def host(self, address, data, now):
        kind, rest = address >> 8, address & 0xFF
        group = None
        if address == 5:
            self.enable = data & (1 << self.barriers) - 1
        elif kind == 2:
            b, word = divmod(rest, 8)
            if b < self.barriers and word * 32 < self.ports:
                mask = 0xFFFFFFFF << 32 * word
                self.member[b] = (self.member[b] & ~mask | data << 32 * word) & self.every
                group = b
        elif kind == 1 and rest < self.ports and self.bus_ports >> rest & 1:
            for b in range(self.barriers):
                if not self.start[b]:
                    self.levels[b] ^= (data >> b & 1) << rest
        self.begin(group, now)
