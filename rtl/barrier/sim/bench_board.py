"""The whole board through its pins (hb_board): group write over SPI, H06's protocol on four wires, read-back."""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Timer

HALF_SCK_NS = 43  # clk is 10 ns; not a multiple, so that every phase occurs


async def frame(dut, write, address, data=0):
    """One SPI frame; returns the 32 data bits read."""
    word, answer = write << 47 | address << 32 | data, 0
    dut.cs_n.value = 0
    for k in range(47, -1, -1):
        dut.mosi.value = word >> k & 1
        await Timer(HALF_SCK_NS, unit="ns")
        dut.sck.value = 1
        answer = answer << 1 | int(dut.miso.value)
        await Timer(HALF_SCK_NS, unit="ns")
        dut.sck.value = 0
    await Timer(HALF_SCK_NS, unit="ns")
    dut.cs_n.value = 1
    await Timer(2 * HALF_SCK_NS, unit="ns")
    return answer & 0xFFFFFFFF


@cocotb.test()
async def four_nodes(dut):
    cocotb.start_soon(Clock(dut.clk, 10, unit="ns").start())
    dut.cs_n.value, dut.sck.value, dut.mosi.value, dut.down_in.value = 1, 0, 0, 0
    pins = 0b1000  # a dead job left node 3's wire high
    dut.pin_in.value = pins
    await Timer(200, unit="ns")
    assert await frame(dut, 0, 0x000) == 0x48423031
    await frame(dut, 1, 0x200, 0b1111)
    await frame(dut, 1, 0x005, 1)
    assert await frame(dut, 0, 0x200) == 0b1111 and await frame(dut, 0, 0x300) == 0b0111
    level = int(dut.pin_out.value)
    pins = 0b1111 if level else 0  # every node writes the status back
    dut.pin_in.value = pins
    await Timer(200, unit="ns")
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
