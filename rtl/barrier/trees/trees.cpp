// Trees of boards at register level: boards/board.v translated by Verilator, each board with a clock of its own, joined
// by one wire each way. Nodes are ranks at the ends of cables, as H06 had them: toggle OUT, wait until IN has toggled.
//
//   trees PORTS PERIOD_PS PADS_PS CABLE_PS BARRIERS SEED NODES...
//
// PADS_PS: an output's and an input's pad together; CABLE_PS: each cable, between boards and to nodes. For each number
// of nodes it prints nodes, levels and boards, and the least, median and greatest o_p in ps. That is the time from the
// last OUT edge at a node to the last IN edge at a node. Ends with 1 where a node is released early, or not at all.
#include "Vinner.h"
#include "Vroot.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <queue>
#include <random>
#include <vector>

namespace {

using Ps = uint64_t;
constexpr double DRIFT = 50e-6;      // of an oscillator, either way
constexpr uint64_t LOCKED = 16;      // clocks until the PLL is steady
constexpr uint64_t SCK_HALF = 8;     // clocks of half a period of sck
constexpr uint64_t FRAME = 48;       // bits of an SPI frame
constexpr uint64_t BEGUN = LOCKED + 64 + 2 * SCK_HALF * (FRAME + 2);
constexpr uint64_t SETTLE = 64;      // clocks that a node holds its write-back
constexpr uint64_t LONGEST = 10000;  // clocks of a barrier, against hangs
constexpr uint64_t GROUP = 0x200;

struct Times { Ps period, pads, cable; };

[[noreturn]] void fail(const char *what, unsigned nodes) {
    std::fprintf(stderr, "trees: %u nodes: %s\n", nodes, what);
    std::exit(1);
}

// One end shows a level; the other sees it when it has come through pads and cable.
struct Wire {
    bool before = false, level = false;
    Ps seen_from = 0;
    void set(bool to, Ps from) {
        if (to == level) return;
        before = level;
        level = to;
        seen_from = from;
    }
    bool at(Ps now) const { return now >= seen_from ? level : before; }
};

struct Board {
    virtual ~Board() = default;
    virtual void clock(uint32_t from_below, bool from_above) = 0;
    virtual bool out() const = 0;
    virtual bool up() const = 0;

    Ps period = 0;
    uint64_t clocks = 0;
    unsigned level = 0, first = 0, children = 0; // boards of the level below, or nodes
    int parent = -1;
    Wire to_parent, to_children;
};

template <typename Model> class Translated : public Board {
public:
    // The first thing that it hears over SPI is who its members are: GROUP of barrier 0.
    void clock(uint32_t from_below, bool from_above) override {
        const uint64_t frame = uint64_t(1) << 47 | GROUP << 32 | ((uint64_t(1) << children) - 1);
        const uint64_t since = clocks < LOCKED + 64 ? 0 : clocks - LOCKED - 64;
        const uint64_t bit = since / (2 * SCK_HALF);
        const bool speaks = since > 0 && bit < FRAME;
        model.lock = clocks >= LOCKED;
        model.cs_n = !speaks;
        model.sck = speaks && since / SCK_HALF % 2;
        model.mosi = speaks && (frame >> (FRAME - 1 - bit) & 1);
        model.from_node = from_below;
        model.down_in = from_above;
        for (int edge : {0, 1}) {
            model.clk = static_cast<uint8_t>(edge);
            model.eval();
        }
        clocks++;
    }
    bool out() const override { return model.to_node & 1; }
    bool up() const override { return model.up_out; }

private:
    Model model;
};

class Tree {
public:
    Tree(unsigned nodes, unsigned ports, const Times &times, uint64_t seed) : nodes(nodes), ports(ports), times(times), random(seed), pins(nodes) {
        for (Wire &pin : pins) pin.before = pin.level = random() & 1; // what a dead job left
        for (unsigned below = nodes, first = 0; levels == 0 || below > 1; levels++) {
            const unsigned here = (below + ports - 1) / ports, mine = static_cast<unsigned>(boards.size());
            for (unsigned k = 0; k < here; k++) add(first + k * ports, std::min(ports, below - k * ports), here == 1);
            first = mine;
            below = here;
        }
        run_until([&] { return std::all_of(boards.begin(), boards.end(), [](const auto &b) { return b->clocks > BEGUN; }); });
        for (unsigned k = 0; k < nodes; k++) pins[k].set(boards[k / ports]->to_children.level, now + to_board());
        const Ps settled = now + SETTLE * levels * times.period;
        run_until([&] { return now >= settled; });
    }

    // A barrier at which the nodes arrive within a few clocks of one another: its o_p. Before it the clocks wander, as they
    // would in the time that programs compute.
    Ps barrier() {
        wander();
        std::vector<std::pair<Ps, unsigned>> arrivals;
        for (unsigned k = 0; k < nodes; k++) arrivals.emplace_back(now + random() % (20 * times.period), k);
        std::sort(arrivals.begin(), arrivals.end());
        const Ps last = arrivals.back().first;
        size_t arrived = 0;
        level = !level;
        run_until([&] {
            for (; arrived < nodes && arrivals[arrived].first <= queue.top().first; arrived++)
                pins[arrivals[arrived].second].set(level, arrivals[arrived].first + to_board());
            const bool any = std::any_of(boards.begin(), boards.end(), [&](const auto &b) { return b->level == 0 && b->to_children.level == level; });
            if (any && arrived < nodes) fail("released before all have arrived", nodes);
            if (now > last + LONGEST * times.period) fail("a barrier does not end", nodes);
            return any && std::all_of(boards.begin(), boards.end(), [&](const auto &b) { return b->level > 0 || b->to_children.level == level; });
        });
        Ps released = 0;
        for (const auto &b : boards)
            if (b->level == 0) released = std::max(released, b->to_children.seen_from);
        run_until([&] { return now >= released; });
        return released - last;
    }

    unsigned levels = 0;
    size_t count() const { return boards.size(); }

private:
    Ps to_board() const { return times.cable + times.pads / 2; }
    Ps from_board(bool to_node) const { return times.cable + (to_node ? times.pads - times.pads / 2 : times.pads); }

    void add(unsigned first, unsigned children, bool root) {
        std::unique_ptr<Board> made;
        if (root) made = std::make_unique<Translated<Vroot>>();
        else made = std::make_unique<Translated<Vinner>>();
        made->level = levels;
        made->first = first;
        made->children = children;
        for (unsigned k = 0; levels > 0 && k < children; k++) boards[first + k]->parent = static_cast<int>(boards.size());
        made->period = static_cast<Ps>(static_cast<double>(times.period) * (1 + DRIFT * std::uniform_real_distribution<>(-1, 1)(random)));
        queue.emplace(random() % made->period, static_cast<unsigned>(boards.size()));
        boards.push_back(std::move(made));
    }

    void wander() {
        decltype(queue) later;
        for (; !queue.empty(); queue.pop()) later.emplace(queue.top().first + random() % times.period, queue.top().second);
        queue = std::move(later);
    }

    // The next edge of any board's clock.
    void step() {
        const unsigned who = queue.top().second;
        now = queue.top().first;
        queue.pop();
        Board &board = *boards[who];
        uint32_t below = (1u << ports) - 1u; // a port without a cable rests at 1
        for (unsigned k = 0; k < board.children; k++) {
            const Wire &wire = board.level == 0 ? pins[board.first + k] : boards[board.first + k]->to_parent;
            if (!wire.at(now)) below &= ~(1u << k);
        }
        board.clock(below, board.parent < 0 || boards[static_cast<size_t>(board.parent)]->to_children.at(now));
        board.to_parent.set(board.up(), now + from_board(false));
        board.to_children.set(board.out(), now + from_board(board.level == 0));
        queue.emplace(now + board.period, who);
    }
    template <typename Done> void run_until(Done done) {
        while (!done()) step();
    }

    const unsigned nodes, ports;
    const Times times;
    std::mt19937_64 random;
    std::vector<std::unique_ptr<Board>> boards;
    std::vector<Wire> pins; // OUT of each node
    std::priority_queue<std::pair<Ps, unsigned>, std::vector<std::pair<Ps, unsigned>>, std::greater<>> queue;
    Ps now = 0;
    bool level = false;
};

} // namespace

int main(int argc, char **argv) {
    if (argc < 8) return std::fprintf(stderr, "usage: trees PORTS PERIOD_PS PADS_PS CABLE_PS BARRIERS SEED NODES...\n"), 2;
    const auto number = [&](int k) { return std::strtoull(argv[k], nullptr, 10); };
    const Times times{number(2), number(3), number(4)};
    for (int k = 7; k < argc; k++) {
        const auto nodes = static_cast<unsigned>(number(k));
        Tree tree(nodes, static_cast<unsigned>(number(1)), times, number(6));
        std::vector<Ps> taken(number(5));
        for (Ps &one : taken) one = tree.barrier();
        std::sort(taken.begin(), taken.end());
        std::printf("%u %u %zu %llu %llu %llu\n", nodes, tree.levels, tree.count(), static_cast<unsigned long long>(taken.front()),
                    static_cast<unsigned long long>(taken[taken.size() / 2]), static_cast<unsigned long long>(taken.back()));
        std::fflush(stdout);
    }
    return 0;
}
