// A card: hb_device compiled by Verilator, four of its ports on the bus, its registers in memory that programs map: `card
// NAME`. It cannot see single accesses, so it looks for what was written: TOGGLE and IRQ_STATUS are emptied, GROUP and
// IRQ_ENABLE marked as taken. Ends on SIGTERM.
#include "wires.h"
#include "Vhb_device.h"

#include <csignal>

namespace {

volatile sig_atomic_t ended = 0;
constexpr uint32_t GROUPS = HLB_GROUPS, GROUP = 0x200, ARMED = 0x300;

struct Card {
    explicit Card(card *memory) : memory(memory) {}
    void clock() {
        rtl.clk = 0;
        rtl.eval();
        rtl.clk = 1;
        rtl.eval();
    }
    uint32_t read(uint32_t address) {
        rtl.bus_addr = static_cast<SData>(address);
        clock();
        return rtl.bus_rdata;
    }
    void write(uint32_t address, uint32_t data) {
        rtl.bus_valid = rtl.bus_write = 1;
        rtl.bus_addr = static_cast<SData>(address);
        rtl.bus_wdata = data;
        clock();
        rtl.bus_valid = rtl.bus_write = 0;
    }
    void show(uint32_t address, uint32_t value) { __atomic_store_n(&memory->registers[address], value, __ATOMIC_RELEASE); }
    void empty(uint32_t address) {
        if (hlb_load(&memory->registers[address]) == 0) return;
        write(address, __atomic_exchange_n(&memory->registers[address], 0, __ATOMIC_ACQ_REL));
    }
    void take(uint32_t address) {
        uint32_t written = hlb_load(&memory->registers[address]);
        if (written & CARD_TAKEN) return;
        write(address, written);
        __atomic_compare_exchange_n(&memory->registers[address], &written, written | CARD_TAKEN, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    }
    void turn() {
        for (uint32_t p = CARD_FIRST; p < CARD_FIRST + BOARD_PORTS; p++) empty(HLB_TOGGLE + p);
        empty(HLB_IRQ_STATUS);
        take(HLB_IRQ_ENABLE);
        for (uint32_t g = 0; g < GROUPS; g++) {
            take(GROUP + 8 * g);
            show(ARMED + 8 * g, read(ARMED + 8 * g));
        }
        show(HLB_STATUS, rtl.pin_out);
        if (rtl.irq != memory->irq.value) hlb_store(&memory->irq, rtl.irq);
        __atomic_store_n(&memory->turns.value, memory->turns.value + 1, __ATOMIC_RELEASE);
    }
    card *memory;
    Vhb_device rtl;
};

} // namespace

int main(int argc, char **argv) {
    card *memory = argc == 2 ? card_map(argv[1], 1) : nullptr;
    if (!memory) return std::perror("card"), 1;
    std::signal(SIGTERM, [](int) { ended = 1; });
    Card card(memory);
    card.show(HLB_IRQ_ENABLE, CARD_TAKEN);
    for (uint32_t g = 0; g < GROUPS; g++) card.show(GROUP + 8 * g, CARD_TAKEN);
    card.show(1, card.read(1));
    card.show(0, card.read(0)); // last: from now on it answers
    while (!ended) {
        for (int k = 0; k < 8; k++) card.turn();
        sched_yield(); // others write its registers
    }
    shm_unlink(argv[1]);
    return 0;
}
