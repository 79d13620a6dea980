// A board: hb_board compiled by Verilator, clocked without end, its pins in shared memory: `board NAME STALE`. STALE: levels
// that a dead job left on the wires of each group. Ends on SIGTERM.
#include "wires.h"
#include "Vhb_board.h"

#include <csignal>

static volatile sig_atomic_t ended = 0;

int main(int argc, char **argv) {
    board *b = argc == 3 ? board_map(argv[1], 1) : nullptr;
    if (!b) return std::perror("board"), 1;
    std::signal(SIGTERM, [](int) { ended = 1; });
    const uint32_t stale = static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 0));
    for (int g = 0; g < BOARD_GROUPS; g++)
        for (int p = 0; p < BOARD_PORTS; p++) b->out[g][p].value = stale >> p & 1u;
    b->cs_n.value = 1;
    Vhb_board rtl;
    for (uint32_t clocks = 1; !ended; clocks++) {
        uint32_t pins = 0;
        for (int g = 0; g < BOARD_GROUPS; g++)
            for (int p = 0; p < BOARD_PORTS; p++) pins |= (hlb_load(&b->out[g][p].value) & 1u) << (g * BOARD_PORTS + p);
        rtl.pin_in = static_cast<CData>(pins);
        rtl.cs_n = hlb_load(&b->cs_n.value) & 1u;
        rtl.sck = hlb_load(&b->sck.value) & 1u;
        rtl.mosi = hlb_load(&b->mosi.value) & 1u;
        rtl.clk = 0;
        rtl.eval();
        rtl.clk = 1;
        rtl.eval();
        for (int g = 0; g < BOARD_GROUPS; g++)
            if (uint32_t level = rtl.pin_out >> g & 1u; level != hlb_load(&b->in[g].value)) hlb_store(&b->in[g], level); // wakes
        __atomic_store_n(&b->miso.value, rtl.miso, __ATOMIC_RELEASE);
        __atomic_store_n(&b->clocks.value, clocks, __ATOMIC_RELEASE);
        if (clocks % 256 == 0) sched_yield(); // others drive the wires
    }
    shm_unlink(argv[1]);
    return 0;
}
