// Access to a barrier device: processes by their connections, nodes by their ports, groups by their members. Knows no
// device but its registers.
#ifndef HOTLINK_DAEMON_HPP
#define HOTLINK_DAEMON_HPP

#include "hotlink_device.h"

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <string>
#include <vector>

// A device's registers (docs/barrier.md), however they are reached.
struct Registers {
    static constexpr uint32_t ID = 0, CONFIG = 1, GROUP = 0x200, ARMED = 0x300;
    virtual ~Registers() = default;
    virtual uint32_t read(uint32_t address) = 0;
    virtual void write(uint32_t address, uint32_t data) = 0;
};

class Daemon {
public:
    // `pins`: the memory to pass to those who attach, or -1.
    Daemon(Registers &registers, const hlb_facts &facts, int pins) : registers(registers), facts(facts), pins(pins) {
        for (uint32_t g = 0; g < facts.groups; g++) registers.write(group_address(g), 0); // what a dead daemon left
    }
    ~Daemon() {
        for (const Client &client : clients) close(client.socket);
        if (listener >= 0) {
            close(listener);
            unlink(address.sun_path);
        }
    }

    // Listens; 0 or an errno value. A dead daemon's socket is taken over, a living one's is EADDRINUSE.
    int listen_at(const char *path) {
        if (path && setenv("HOTLINK_BARRIER_DEVICE", path, 1) != 0) return errno;
        int error = hlb_device_address(&address);
        if (error) return error;
        int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (made < 0) return errno;
        auto *at = reinterpret_cast<sockaddr *>(&address);
        if (connect(made, at, sizeof address) == 0) return close(made), EADDRINUSE;
        if (errno == ECONNREFUSED) unlink(address.sun_path);
        // Under its name only once it listens: who finds the socket may connect.
        sockaddr_un early = address;
        std::string name = address.sun_path + ("." + std::to_string(getpid()));
        if (name.size() >= sizeof early.sun_path) return close(made), ENAMETOOLONG;
        strcpy(early.sun_path, name.c_str());
        mode_t before = umask(0077); // this user's processes only
        error = bind(made, reinterpret_cast<sockaddr *>(&early), sizeof early) != 0 || listen(made, 64) != 0 ||
                        link(early.sun_path, address.sun_path) != 0
                    ? errno
                    : 0;
        umask(before);
        unlink(early.sun_path);
        if (error) return close(made), error == EEXIST ? EADDRINUSE : error;
        listener = made;
        return 0;
    }
    const char *path() const { return address.sun_path; }

    // A group of ports 0 to `ranks` - 1 that stands as long as the daemon.
    void stand(uint32_t ranks) {
        groups[0].state = Group::STANDING;
        define(0, ranks == 32 ? ~0u : (1u << ranks) - 1u);
    }

    // Groups that are in use, a bit each.
    uint32_t used() const {
        uint32_t bits = 0;
        for (uint32_t g = 0; g < facts.groups; g++) bits |= (groups[g].state != Group::FREE ? 1u : 0u) << g;
        return bits;
    }

    // Serves what has come in, or waits for it so long.
    void turn(int wait_ms) {
        std::vector<pollfd> files{{listener, POLLIN, 0}};
        for (const Client &client : clients) files.push_back({client.socket, POLLIN, 0});
        if (poll(files.data(), files.size(), wait_ms) <= 0) return;
        for (size_t k = files.size() - 1; k > 0; k--) // from the end: those who left are taken out
            if (files[k].revents) serve(k - 1);
        if (files[0].revents) admit();
    }

private:
    struct Client {
        int socket;
        std::string node;
        uint32_t port = HLB_ANY_PORT, owned = 0, joined = 0; // the groups made and joined, a bit each
        hlb_message message{};                               // as far as it has come
        size_t have = 0;
    };
    struct Group {
        enum { FREE, MADE, GIVEN_BACK, STANDING } state = FREE;
        uint32_t members = 0;
    };

    static uint32_t group_address(uint32_t group) { return Registers::GROUP + 8 * group; }

    void define(uint32_t group, uint32_t members) {
        groups[group].members = members;
        registers.write(group_address(group), members); // disarms: no pin counts before it was seen at rest
    }

    // Frees a group once nobody can move its pins any more.
    void settle(uint32_t group) {
        if (groups[group].state != Group::GIVEN_BACK) return;
        for (const Client &client : clients)
            if (client.joined >> group & 1u) return;
        groups[group].state = Group::FREE;
        define(group, 0);
    }

    void give_back(uint32_t group) {
        if (groups[group].state == Group::MADE) groups[group].state = Group::GIVEN_BACK;
        settle(group);
    }

    void admit() {
        int made = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (made >= 0) clients.push_back({made, {}, HLB_ANY_PORT, 0, 0, {}, 0});
    }

    // A connection's end is its process's: those who share a group with it are told.
    void bury(size_t who) {
        Client dead = clients[who];
        close(dead.socket);
        clients.erase(clients.begin() + static_cast<std::ptrdiff_t>(who));
        for (uint32_t g = 0; g < facts.groups; g++) {
            if (dead.joined >> g & 1u)
                for (const Client &client : clients)
                    if (client.joined >> g & 1u) tell_broken(client.socket, g);
            if (dead.owned >> g & 1u) give_back(g);
            settle(g);
        }
    }

    static void tell_broken(int socket, uint32_t group) {
        hlb_message news{};
        news.kind = HLB_BROKEN;
        news.group = group;
        // Who does not read its messages loses the connection, which the next turn sees.
        if (send(socket, &news, sizeof news, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof news)) shutdown(socket, SHUT_RDWR);
    }

    int32_t claim(Client &client, hlb_message &message) {
        message.node[sizeof message.node - 1] = 0;
        uint32_t taken = 0, found = message.port;
        for (const Client &other : clients) {
            if (other.port == HLB_ANY_PORT || &other == &client) continue;
            if (other.node == message.node && (found == HLB_ANY_PORT || found == other.port)) found = other.port;
            else taken |= 1u << other.port;
        }
        for (uint32_t port = 0; found == HLB_ANY_PORT && port < facts.ports; port++)
            if (!(taken >> port & 1u)) found = port;
        if (found == HLB_ANY_PORT || (found < facts.ports && taken >> found & 1u)) return EBUSY;
        if (found >= facts.ports || client.joined) return EINVAL;
        client.node = message.node;
        client.port = message.port = found;
        return 0;
    }

    int32_t make_group(Client &client, hlb_message &message) {
        if (message.value == 0 || (facts.ports < 32 && message.value >> facts.ports)) return EINVAL;
        for (uint32_t g = 0; g < facts.groups; g++) {
            if (groups[g].state != Group::FREE) continue;
            groups[g].state = Group::MADE;
            define(g, message.value);
            client.owned |= 1u << g;
            message.group = g;
            return 0;
        }
        return EBUSY;
    }

    int32_t join(Client &client, uint32_t group) {
        if (client.port == HLB_ANY_PORT || !(groups[group].members >> client.port & 1u)) return EINVAL;
        if (groups[group].state != Group::MADE && groups[group].state != Group::STANDING) return EPIPE; // its owner died
        client.joined |= 1u << group;
        return 0;
    }

    int32_t answer(Client &client, hlb_message &message) {
        if (message.kind == HLB_HELLO) {
            message.facts = facts;
            return 0;
        }
        if (message.kind == HLB_CLAIM) return claim(client, message);
        if (message.kind == HLB_GROUP) return make_group(client, message);
        if (message.kind == HLB_READ) {
            message.value = registers.read(message.value & 0xfffu);
            return 0;
        }
        if (message.group >= facts.groups) return EINVAL;
        const uint32_t bit = 1u << message.group;
        switch (message.kind) {
        case HLB_UNGROUP:
            if (!(client.owned & bit)) return EINVAL;
            client.owned &= ~bit;
            give_back(message.group);
            return 0;
        case HLB_JOIN: return join(client, message.group);
        case HLB_ARMED:
            message.value = registers.read(Registers::ARMED + 8 * message.group);
            return 0;
        case HLB_LEAVE:
            client.joined &= ~bit;
            settle(message.group);
            return 0;
        default: return EPROTO;
        }
    }

    // Takes what has come of a client's message, and answers once that is whole.
    void serve(size_t who) {
        Client &client = clients[who];
        char *at = reinterpret_cast<char *>(&client.message) + client.have;
        ssize_t got = recv(client.socket, at, sizeof client.message - client.have, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got <= 0) return bury(who);
        client.have += static_cast<size_t>(got);
        if (client.have < sizeof client.message) return;
        client.have = 0;
        client.message.error = answer(client, client.message);
        if (!reply(client.socket, client.message)) bury(who);
    }

    // With the pins' memory for those who say hello.
    bool reply(int socket, const hlb_message &message) const {
        iovec part{const_cast<hlb_message *>(&message), sizeof message};
        union { cmsghdr header; char bytes[CMSG_SPACE(sizeof(int))]; } control{};
        msghdr all{};
        all.msg_iov = &part;
        all.msg_iovlen = 1;
        if (message.kind == HLB_HELLO && pins >= 0) {
            all.msg_control = control.bytes;
            all.msg_controllen = sizeof control.bytes;
            cmsghdr *header = CMSG_FIRSTHDR(&all);
            header->cmsg_level = SOL_SOCKET;
            header->cmsg_type = SCM_RIGHTS;
            header->cmsg_len = CMSG_LEN(sizeof(int));
            std::memcpy(CMSG_DATA(header), &pins, sizeof pins);
        }
        return sendmsg(socket, &all, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof message);
    }

    Registers &registers;
    const hlb_facts facts;
    const int pins;
    int listener = -1;
    sockaddr_un address{};
    std::vector<Client> clients;
    Group groups[HLB_GROUPS];
};

// The pins of a device that is a process, in memory that attached processes share. `stale`: as a dead job left them, a
// bit a port.
struct Pins {
    explicit Pins(uint32_t stale) : file(memfd_create("hotlink-barrier-pins", MFD_CLOEXEC)) {
        void *at = file < 0 || ftruncate(file, sizeof(hlb_pins)) != 0 ? MAP_FAILED
            : mmap(nullptr, sizeof(hlb_pins), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (at == MAP_FAILED) {
            error = errno;
            return;
        }
        memory = static_cast<hlb_pins *>(at);
        for (uint32_t p = 0; p < HLB_PORTS; p++)
            for (auto &group : memory->pin) group[p].value = stale >> p & 1u;
    }
    const int file;
    int error = 0;
    hlb_pins *memory = nullptr;
};

// The daemon's command line, for any device.
struct Options {
    const char *path = nullptr, *device = nullptr;
    long nodes = 0, each = 0, standing = 0, seconds = 0, stale = 0, quiet = 0, op_ns = 0;

    // What is wrong, or null.
    const char *read(int argc, char **argv, int most) {
        for (int k = 1; k < argc; k += 2) {
            const char *name = argv[k];
            if (k + 1 == argc) return "an option lacks its value";
            if (!std::strcmp(name, "--socket")) { path = argv[k + 1]; continue; }
            if (!std::strcmp(name, "--device")) { device = argv[k + 1]; continue; }
            char *end;
            long value = std::strtol(argv[k + 1], &end, 0);
            if (*end || value < 0) return "a value is not a number";
            if (!std::strcmp(name, "--nodes")) nodes = value;
            else if (!std::strcmp(name, "--ranks-per-node")) each = value;
            else if (!std::strcmp(name, "--standing")) standing = value;
            else if (!std::strcmp(name, "--seconds")) seconds = value;
            else if (!std::strcmp(name, "--stale")) stale = value;
            else if (!std::strcmp(name, "--quiet")) quiet = value;
            else if (!std::strcmp(name, "--op-ns")) op_ns = value;
            else return "unknown option";
        }
        return nodes < 1 || nodes > most ? "--nodes is missing or out of range" : nullptr;
    }
    static int usage(const char *why, int most) {
        std::fprintf(stderr, "barrier-serve: %s\nusage: barrier-serve --nodes 1..%d [--device PATH] [--ranks-per-node M] "
                     "[--standing 1] [--socket PATH] [--seconds S] [--stale MASK] [--op-ns NS] [--quiet 1]\n", why, most);
        return 2;
    }
    uint64_t limit_ns() const { return static_cast<uint64_t>(seconds) * 1000000000u; }
};

inline volatile sig_atomic_t ended = 0;
inline void end_on_signals() {
    std::signal(SIGTERM, [](int) { ended = 1; });
    std::signal(SIGINT, [](int) { ended = 1; });
}
// For tests of devices that are processes: SIGUSR1 holds the output, SIGUSR2 lets it go.
inline volatile sig_atomic_t held = 0;
inline void hold_on_signals() {
    std::signal(SIGUSR1, [](int) { held = 1; });
    std::signal(SIGUSR2, [](int) { held = 0; });
}
inline int failed(const char *what, int error) {
    std::fprintf(stderr, "barrier-serve: %s: %s\n", what, std::strerror(error));
    return 1;
}

#endif
