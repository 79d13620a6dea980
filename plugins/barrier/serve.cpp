// The compiled RTL as a device: hb_device (rtl/barrier) translated by Verilator, its pins and its register bus in a
// named shared memory (struct hlb_pins). Ranks join with hlb_pins_attach.
//
//   barrier-serve --ranks N [--shm /NAME] [--seconds S] [--stale MASK] [--quiet 1]
//
// --stale sets pins before the start, as a dead job may leave them. Ends on SIGTERM, SIGINT or after S seconds
// (default 600; 0: never) and removes the shared memory.
#include "hotlink_barrier.h"
#include "Vhb_device.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>

namespace {

constexpr uint32_t STATUS_IDLE_CLOCKS = 64; // clocks without a change after which the core is offered to others
constexpr uint32_t GROUP = 0x200, ARMED = 0x300;
volatile sig_atomic_t stop = 0;

struct Device {
    Vhb_device rtl;
    hlb_pins *pins = nullptr;
    int ranks = 0;
    bool reading_armed = false;

    // One clock: pins in, edges, pins out. Returns whether anything moved.
    bool clock() {
        uint32_t level = 0;
        for (int k = 0; k < ranks; k++) level |= (hlb_load(&pins->pin[k].value) & 1u) << k;
        bool moved = level != rtl.pin_in;
        rtl.pin_in = level;
        rtl.clk = 0;
        rtl.eval();
        rtl.clk = 1;
        rtl.eval();
        uint32_t out = rtl.pin_out;
        if (out != hlb_load(&pins->status.value)) {
            hlb_store(&pins->status, out);
            moved = true;
        }
        if (reading_armed && rtl.bus_rdata != hlb_load(&pins->armed.value)) {
            hlb_store(&pins->armed, rtl.bus_rdata);
            moved = true;
        }
        return moved;
    }

    void bus(bool write, uint32_t address, uint32_t data) {
        rtl.bus_valid = 1;
        rtl.bus_write = write;
        rtl.bus_addr = address & 0xfffu;
        rtl.bus_wdata = data;
        reading_armed = false;
        clock();
        rtl.bus_valid = 0;
        rtl.bus_write = 0;
    }

    // A host's access, if one is pending; between accesses the bus shows ARMED.
    bool serve_bus() {
        uint32_t ticket = hlb_load(&pins->request.value);
        if (ticket == hlb_load(&pins->answer.value)) {
            reading_armed = rtl.bus_addr == ARMED;
            rtl.bus_addr = ARMED;
            return false;
        }
        bus(pins->write != 0, pins->address, pins->data);
        if (!pins->write) pins->data = rtl.bus_rdata;
        hlb_store(&pins->answer, ticket);
        return true;
    }
};

int usage(const char *why) {
    std::fprintf(stderr, "barrier-serve: %s\nusage: barrier-serve --ranks 1..%d [--shm /NAME] [--seconds S] [--stale MASK] [--quiet 1]\n",
                 why, HB_PORTS);
    return 2;
}

} // namespace

int main(int argc, char **argv) {
    const char *name = "/hotlink-barrier";
    long ranks = 0, seconds = 600, stale = 0, quiet = 0;
    for (int k = 1; k < argc; k += 2) {
        if (k + 1 == argc) return usage("an option lacks its value");
        if (!std::strcmp(argv[k], "--shm")) { name = argv[k + 1]; continue; }
        char *end;
        long value = std::strtol(argv[k + 1], &end, 0);
        if (*end || value < 0) return usage("a value is not a number");
        if (!std::strcmp(argv[k], "--ranks")) ranks = value;
        else if (!std::strcmp(argv[k], "--seconds")) seconds = value;
        else if (!std::strcmp(argv[k], "--stale")) stale = value;
        else if (!std::strcmp(argv[k], "--quiet")) quiet = value;
        else return usage("unknown option");
    }
    if (ranks < 1 || ranks > HB_PORTS) return usage("--ranks is missing or out of range");

    int file = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    if (file < 0 || ftruncate(file, sizeof(hlb_pins)) != 0) {
        std::fprintf(stderr, "barrier-serve: shared memory %s: %s\n", name, std::strerror(errno));
        return 1;
    }
    auto *pins = static_cast<hlb_pins *>(mmap(nullptr, sizeof(hlb_pins), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    if (pins == MAP_FAILED) {
        std::fprintf(stderr, "barrier-serve: mmap: %s\n", std::strerror(errno));
        shm_unlink(name);
        return 1;
    }
    std::signal(SIGTERM, [](int) { stop = 1; });
    std::signal(SIGINT, [](int) { stop = 1; });

    Device device;
    device.pins = pins;
    device.ranks = static_cast<int>(ranks);
    for (long k = 0; k < ranks; k++) pins->pin[k].value = static_cast<uint32_t>(stale >> k) & 1u;
    for (int k = 0; k < 16; k++) device.clock(); // let stale pins through before the group is started
    device.bus(true, GROUP, ranks == 32 ? 0xffffffffu : (1u << ranks) - 1u);
    for (int k = 0; k < 16; k++) device.clock();
    hlb_store(&pins->ready, 1);
    if (!quiet) std::printf("barrier device: %ld ranks at %s\n", ranks, name);
    std::fflush(stdout);

    uint64_t begin = hlb_now_ns(), clocks = 0;
    for (uint32_t idle = 0; !stop; clocks++) {
        __atomic_store_n(&pins->clocks, clocks, __ATOMIC_RELAXED);
        bool moved = device.serve_bus();
        idle = device.clock() || moved ? 0 : idle + 1;
        if (idle >= STATUS_IDLE_CLOCKS) {
            idle = 0;
            sched_yield();
            if (seconds && hlb_now_ns() - begin > static_cast<uint64_t>(seconds) * 1000000000u) break;
        }
    }
    shm_unlink(name);
    if (!quiet) std::printf("barrier device: %llu clocks in %.3f s\n", static_cast<unsigned long long>(clocks),
                static_cast<double>(hlb_now_ns() - begin) * 1e-9);
    return 0;
}
