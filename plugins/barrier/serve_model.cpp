// A barrier network of the catalog as a device: H06's machine. Its release follows the last arrival by the network's
// time (o_p, from its closed form). It covers switches that combine, adapters that do, and boards of another clock. A
// node's write and read are those of shared memory, as with the compiled RTL; an adapter's own time is not added.
//
//   barrier-serve-model --device NAME --op-ns NS --nodes N [the other options of the daemon]
#include "daemon.hpp"

#include <array>

namespace {

constexpr uint32_t TURN = 4096;      // looks after which connections are served, whatever moves
constexpr uint32_t PATIENCE = 20000; // looks without a change before the device sleeps until a pin moves
constexpr uint64_t NAP_NS = 1000000;

class Model : public Registers {
public:
    Model(hlb_pins *pins, uint64_t op_ns) : pins(pins), op_ns(op_ns) {}

    // The registers of docs/barrier.md that a daemon and its clients use. GROUP starts a group anew: its pins count once they
    // were seen at rest.
    uint32_t read(uint32_t address) override {
        if (address == ID) return 0x48423031;
        if (address == CONFIG) return 1u << 25 | 1u << 24 | HLB_GROUPS << 16 | HLB_PORTS;
        if (address == HLB_STATUS) return hlb_load(&pins->status.value);
        const uint32_t g = (address & 0xff) / 8;
        if (address % 8 || g >= HLB_GROUPS || address < GROUP) return 0;
        look_at(g);
        return (address & ~0xffu) == ARMED ? groups[g].armed : (address & ~0xffu) == GROUP ? groups[g].members : 0;
    }
    void write(uint32_t address, uint32_t data) override {
        if (address >= GROUP && address < GROUP + 8 * HLB_GROUPS) groups[(address - GROUP) / 8] = {data, 0, false, 0};
    }

    // Whether anything moved.
    bool look(uint32_t used) {
        bool moved = false;
        for (uint32_t g = 0; g < HLB_GROUPS; g++)
            if (used >> g & 1u) moved |= look_at(g);
        __atomic_store_n(&pins->clocks, pins->clocks + 1, __ATOMIC_RELAXED);
        return moved;
    }
    void sleep(uint32_t used) {
        const uint32_t seen = hlb_load(&pins->bell.value);
        __atomic_fetch_add(&pins->bell.parked, 1, __ATOMIC_SEQ_CST);
        const timespec nap{0, NAP_NS};
        if (!look(used)) syscall(SYS_futex, &pins->bell.value, FUTEX_WAIT, seen, &nap, nullptr, 0);
        __atomic_fetch_sub(&pins->bell.parked, 1, __ATOMIC_SEQ_CST);
    }

private:
    struct Group { uint32_t members = 0, armed = 0; bool complete = false; uint64_t due_ns = 0; };
    bool look_at(uint32_t g) {
        Group &group = groups[g];
        const uint32_t status = hlb_load(&pins->status.value) >> g & 1u;
        uint32_t differ = 0;
        for (uint32_t p = 0; p < HLB_PORTS; p++)
            if (group.members >> p & 1u) differ |= ((hlb_load(&pins->pin[g][p].value) & 1u) ^ status) << p;
        group.armed |= group.members & ~differ;
        if (!group.complete) {
            group.complete = group.members && (differ & group.armed) == group.members;
            if (group.complete) group.due_ns = hlb_now_ns() + op_ns;
            return group.complete;
        }
        if (hlb_now_ns() < group.due_ns || held) return true;
        group.complete = false;
        hlb_store(&pins->status, hlb_load(&pins->status.value) ^ 1u << g);
        return true;
    }

    hlb_pins *pins;
    const uint64_t op_ns;
    std::array<Group, HLB_GROUPS> groups;
};

} // namespace

int main(int argc, char **argv) {
    Options options;
    if (const char *why = options.read(argc, argv, HLB_PORTS)) return Options::usage(why, HLB_PORTS);
    if (!options.device) options.device = "model";
    Pins pins(static_cast<uint32_t>(options.stale));
    if (pins.error) return failed("shared memory", pins.error);
    end_on_signals();
    hold_on_signals();
    Model model(pins.memory, static_cast<uint64_t>(options.op_ns));
    hlb_facts facts{"", HLB_VERSION, static_cast<uint32_t>(options.nodes), HLB_GROUPS, static_cast<uint32_t>(options.each), 1,
                    static_cast<uint32_t>(options.op_ns * 1000)};
    std::snprintf(facts.name, sizeof facts.name, "%s", options.device);
    Daemon daemon(model, facts, pins.file);
    if (int error = daemon.listen_at(options.path)) return failed(options.path ? options.path : "socket", error);
    if (options.standing) daemon.stand(static_cast<uint32_t>(options.nodes));
    if (!options.quiet) std::printf("barrier device: %s, %ld nodes, %ld ns at %s\n", options.device, options.nodes, options.op_ns, daemon.path());
    std::fflush(stdout);
    const uint64_t begin = hlb_now_ns();
    for (uint32_t still = 0, since = 0; !ended && !(options.seconds && hlb_now_ns() - begin > options.limit_ns());) {
        const uint32_t used = daemon.used();
        still = used && model.look(used) ? 0 : still + 1;
        if (!used || still > PATIENCE || ++since >= TURN) {
            daemon.turn(used ? 0 : 200);
            since = 0;
        }
        if (used && still > PATIENCE) model.sleep(used);
        else if (still % 64 == 63) sched_yield();
    }
    return 0;
}
