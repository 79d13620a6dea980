// The compiled RTL as a device: hb_device (rtl/barrier) translated by Verilator. Its pins are in memory that it shares
// with the processes that attach (hotlink_device.h); its registers are the daemon's own.
//
//   barrier-serve --nodes N [--ranks-per-node M] [--standing 1] [--socket PATH] [--seconds S] [--stale MASK] [--quiet 1]
//
// --standing: all ports are one group from the start. --stale sets pins before that, as a dead job may leave them. Ends
// on SIGTERM, SIGINT or after S seconds (0: never). For tests SIGUSR1 holds the RTL's output, SIGUSR2 lets it go.
#include "daemon.hpp"
#include "Vhb_device.h"

namespace {

constexpr uint32_t CLOCKS = 6;           // from a pin to the output: synchroniser 2, filter 3, machine 1 (f_latency.v)
constexpr uint32_t REST = 64;            // clocks without a change after which nothing can move any more
constexpr uint32_t PATIENCE = 2000;      // rests before the device sleeps until a pin moves
constexpr uint32_t TURN = 4096;          // clocks after which connections are looked at, whatever moves
constexpr uint64_t NAP_NS = 1000000;

// The RTL's inputs are numbers or arrays of words, by their width.
template <typename T> void set_bit(T &to, uint32_t bit, uint32_t level) {
    to = static_cast<T>((to & ~(T(1) << bit)) | T(level) << bit);
}
template <size_t N> void set_bit(VlWide<N> &to, uint32_t bit, uint32_t level) {
    to[bit / 32] = (to[bit / 32] & ~(1u << bit % 32)) | level << bit % 32;
}

class Rtl : public Registers {
public:
    Rtl(hlb_pins *pins, uint32_t nodes) : pins(pins), nodes(nodes) {}

    // Pins of these groups are looked at.
    void watch(uint32_t groups) { watched = groups; }

    // One clock: pins in, edges, pins out. Returns whether anything moved.
    bool clock() {
        bool moved = false;
        for (uint32_t g = 0; g < HLB_GROUPS; g++) {
            if (!(watched >> g & 1u)) continue;
            uint32_t now = 0;
            for (uint32_t p = 0; p < nodes; p++) now |= (hlb_load(&pins->pin[g][p].value) & 1u) << p;
            for (uint32_t p = 0; p < nodes && now != level[g]; p++) set_bit(rtl.pin_in, g * HB_PORTS + p, now >> p & 1u);
            moved |= now != level[g];
            level[g] = now;
        }
        rtl.clk = 0;
        rtl.eval();
        rtl.clk = 1;
        rtl.eval();
        __atomic_store_n(&pins->clocks, ++clocks, __ATOMIC_RELAXED);
        uint32_t out = rtl.pin_out;
        if (out != hlb_load(&pins->status.value) && !held) {
            hlb_store(&pins->status, out);
            moved = true;
        }
        return moved;
    }
    uint32_t read(uint32_t address) override {
        rtl.bus_addr = address & 0xfffu;
        clock();
        return rtl.bus_rdata;
    }
    void write(uint32_t address, uint32_t data) override {
        rtl.bus_valid = rtl.bus_write = 1;
        rtl.bus_addr = address & 0xfffu;
        rtl.bus_wdata = data;
        clock();
        rtl.bus_valid = rtl.bus_write = 0;
        for (uint32_t k = 0; k < REST; k++) clock();
    }

    // Until a pin moves, or for a nap.
    void sleep() {
        uint32_t seen = hlb_load(&pins->bell.value);
        __atomic_fetch_add(&pins->bell.parked, 1, __ATOMIC_SEQ_CST);
        timespec nap{0, NAP_NS};
        if (!clock()) syscall(SYS_futex, &pins->bell.value, FUTEX_WAIT, seen, &nap, nullptr, 0);
        __atomic_fetch_sub(&pins->bell.parked, 1, __ATOMIC_SEQ_CST);
    }
    uint64_t clocks = 0;

private:
    Vhb_device rtl;
    hlb_pins *pins;
    const uint32_t nodes;
    uint32_t watched = 0, level[HLB_GROUPS] = {};
};

// What a clock costs here, over all groups: part of the device's facts.
uint32_t clock_ps(Rtl &device) {
    constexpr uint32_t COUNT = 20000;
    device.watch((1u << HLB_GROUPS) - 1u);
    uint64_t begin = hlb_now_ns();
    for (uint32_t k = 0; k < COUNT; k++) device.clock();
    uint64_t ps = (hlb_now_ns() - begin) * 1000 / COUNT;
    return static_cast<uint32_t>(ps < UINT32_MAX ? ps : UINT32_MAX);
}

void run(Rtl &device, Daemon &daemon, uint64_t limit_ns) {
    uint64_t begin = hlb_now_ns();
    uint32_t still = 0, since = 0, rests = 0;
    while (!ended) {
        still = device.clock() ? 0 : still + 1;
        if (still < REST && ++since < TURN) continue;
        rests = still < REST ? 0 : rests + 1;
        bool asleep = daemon.used() == 0 || rests > PATIENCE;
        if (since >= TURN || asleep || rests % 16 == 0) {
            daemon.turn(daemon.used() == 0 ? 200 : 0);
            device.watch(daemon.used());
            since = 0;
            if (limit_ns && hlb_now_ns() - begin > limit_ns) break;
        }
        if (daemon.used() && rests > PATIENCE) device.sleep();
        else if (still >= REST) sched_yield();
        still = 0;
    }
}

} // namespace

int main(int argc, char **argv) {
    Options options;
    if (const char *why = options.read(argc, argv, HB_PORTS)) return options.usage(why, HB_PORTS);
    const long nodes = options.nodes;

    Pins shared(static_cast<uint32_t>(options.stale));
    if (shared.error) return failed("shared memory", shared.error);
    hlb_pins *pins = shared.memory;
    end_on_signals();
    hold_on_signals();
    Rtl device(pins, static_cast<uint32_t>(nodes));
    hlb_facts facts{"rtl", HLB_VERSION, static_cast<uint32_t>(nodes), HLB_GROUPS, static_cast<uint32_t>(options.each), CLOCKS, 0};
    facts.clock_ps = clock_ps(device); // long enough to let stale pins through
    Daemon daemon(device, facts, shared.file);
    if (int error = daemon.listen_at(options.path)) return failed(options.path ? options.path : "socket", error);
    if (options.standing) daemon.stand(static_cast<uint32_t>(nodes));
    device.watch(daemon.used());
    if (!options.quiet) std::printf("barrier device: %ld nodes at %s\n", nodes, daemon.path());
    std::fflush(stdout);
    uint64_t begin = hlb_now_ns(), clocks = device.clocks;
    run(device, daemon, options.limit_ns());
    if (!options.quiet) std::printf("barrier device: %llu clocks in %.3f s\n", static_cast<unsigned long long>(device.clocks - clocks),
                static_cast<double>(hlb_now_ns() - begin) * 1e-9);
    return 0;
}
