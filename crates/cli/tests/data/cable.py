"""A cable between tun devices of two network namespaces: delay, loss and rate as netem has them.

Usage: cable.py PID DELAY_MS LOSS RATE_MBIT: hl0 here and hl1 in the namespace of PID. Each value is one for both
directions, or two with a comma: from hl0 to hl1, and back. One loss is that from hl0 to hl1 only.
Whoever makes one more byte wait than a queue of 300 ms holds, loses it, as on a router.
"""

import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import sys
import time


def both(text: str, back: float | None = None) -> tuple[float, float]:
    values = [float(value) for value in text.split(",")]
    return values[0], values[1] if len(values) > 1 else values[0] if back is None else back


pid, delays, losses, rates = sys.argv[1], both(sys.argv[2]), both(sys.argv[3], 0.0), both(sys.argv[4])
QUEUE = 0.3


def tun(name: str) -> int:
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, 0x400454CA, struct.pack("16sH", name.encode(), 0x1001))  # TUNSETIFF, IFF_TUN | IFF_NO_PI
    return device


near = tun("hl0")
namespace = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
if ctypes.CDLL(None, use_errno=True).setns(namespace, 0x40000000) != 0:  # CLONE_NEWNET
    sys.exit(77)
far = tun("hl1")

rng = random.Random(1)
under_way: list[tuple[float, int, int, bytes]] = []
free = {near: 0.0, far: 0.0}
number = 0
while True:
    wait = max(0.0, under_way[0][0] - time.monotonic()) if under_way else None
    ready, _, _ = select.select([near, far], [], [], wait)
    now = time.monotonic()
    for device in ready:
        way = int(device == far)
        for _ in range(64):
            try:
                packet = os.read(device, 65536)
            except BlockingIOError:
                break
            if rng.random() < losses[way] or free[device] > now + QUEUE:
                continue
            free[device] = max(now, free[device]) + len(packet) * 8e-6 / rates[way]
            number += 1
            heapq.heappush(under_way, (free[device] + delays[way] / 1e3, number, near if way else far, packet))
    while under_way and under_way[0][0] <= time.monotonic():
        _, _, device, packet = heapq.heappop(under_way)
        try:
            os.write(device, packet)
        except OSError:
            pass  # The device is not up yet, or full: lost.
