/* A barrier device between nodes: the contract, its daemon's protocol, and the wires of a node. C11 or C++, Linux.
 *
 *     hlb_device_attach   finds the daemon: what the device can and what it costs (struct hlb_facts)
 *     hlb_device_claim    makes this process's node one of the device's ports
 *     hlb_device_group    has a group of ports made, hlb_device_ungroup gives it back
 *     hlb_device_join     opens a door to a group: from then on hlb_enter, hlb_released (test) and hlb_wait
 *     hlb_device_lost     tells a waiter that a member or the daemon died
 *     hlb_device_leave    closes the door
 *
 * Only the daemon (`hotlink barrier serve`) reaches the device's registers. It writes GROUP and knows by their
 * connections which nodes live. It hands a group out again once all who joined it have left or died. A node's own wires
 * are those that HOTLINK_BARRIER_WIRES names (hotlink_wires.h), else pins in memory that the daemon passes: the
 * compiled RTL. */
#ifndef HOTLINK_DEVICE_H
#define HOTLINK_DEVICE_H

#include "hotlink_wires.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#define HLB_ANSWER_S 60      /* how long an answer of the daemon may take on a machine with much to do */
#define HLB_ANY_PORT 0xffffffffu

/* ---- what travels between a process and the daemon: one message, one answer ------------------------------------- */
/* Over a stream, so that a connection may be forwarded: `ssh -L` brings the daemon's socket to the other nodes. */

enum { HLB_VERSION = 2 };
enum hlb_kind {
    HLB_HELLO = 1, /* answer: facts, and the pins' memory where the device has such */
    HLB_CLAIM,     /* node, port or HLB_ANY_PORT: answer: port */
    HLB_GROUP,     /* value, the members: answer: group */
    HLB_UNGROUP,   /* group */
    HLB_JOIN,      /* group */
    HLB_ARMED,     /* group: answer: value, the ports that the start-up guard has admitted */
    HLB_LEAVE,     /* group */
    HLB_READ,      /* value, a register's address: answer: value */
    HLB_BROKEN     /* unasked: a member of group died */
};
struct hlb_facts { /* what a device can, and what it costs */
    char name[16];
    uint32_t version, ports, groups;
    uint32_t ranks_per_node;   /* pretend nodes of that many ranks of a job; 0: nodes are those of the MPI */
    uint32_t clocks, clock_ps; /* op: from the last arrival at a pin to the release at its output, in the device's clocks */
};
struct hlb_message {
    uint32_t kind;
    int32_t error; /* of an answer: 0 or an errno value */
    uint32_t group, port, value;
    char node[108];
    struct hlb_facts facts;
};

struct hlb_session { /* a process's attachment to a device */
    int socket;
    uint32_t port;
    uint32_t broken; /* bit g: a member of group g died */
    struct hlb_facts facts;
    struct hlb_pins *pins;
    pthread_mutex_t lock;
};

/* ---- the daemon ---------------------------------------------------------------------------------------------------- */

/* Where the daemon listens: HOTLINK_BARRIER_DEVICE, or a name for this user. */
static inline int hlb_device_address(struct sockaddr_un *address) {
    const char *set = getenv("HOTLINK_BARRIER_DEVICE");
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    int length = set && *set ? snprintf(address->sun_path, sizeof address->sun_path, "%s", set)
                             : snprintf(address->sun_path, sizeof address->sun_path, "/tmp/hotlink-barrier-%u", (unsigned)getuid());
    return length < (int)sizeof address->sun_path ? 0 : ENAMETOOLONG;
}

/* Receives a message, and a file with it if one is passed (-1: none). Over a forwarded connection a message may come in
 * parts: once it has begun, the rest is waited for. */
static inline int hlb_receive(int from, struct hlb_message *message, int *file, int flags) {
    union { struct cmsghdr header; char bytes[CMSG_SPACE(sizeof(int))]; } control;
    struct iovec part;
    struct msghdr all;
    memset(&all, 0, sizeof all);
    part.iov_base = message;
    part.iov_len = sizeof *message;
    all.msg_iov = &part;
    all.msg_iovlen = 1;
    all.msg_control = control.bytes;
    all.msg_controllen = sizeof control.bytes;
    ssize_t got;
    do got = recvmsg(from, &all, flags | MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? ETIMEDOUT : errno;
    struct cmsghdr *header = CMSG_FIRSTHDR(&all);
    int passed = -1;
    if (header && header->cmsg_type == SCM_RIGHTS) memcpy(&passed, CMSG_DATA(header), sizeof passed);
    if (file) *file = passed;
    else if (passed >= 0) close(passed);
    for (size_t have = 0; got > 0 && (have += (size_t)got) < sizeof *message;) {
        do got = recv(from, (char *)message + have, sizeof *message - have, 0);
        while (got < 0 && errno == EINTR);
        if (got < 0) return errno;
    }
    return got == 0 ? ECONNRESET : 0;
}

/* Asks the daemon; news that come in between are noted. A daemon that does not answer counts as dead. */
static inline int hlb_ask(struct hlb_session *s, struct hlb_message *message, int *file) {
    uint32_t asked = message->kind;
    pthread_mutex_lock(&s->lock);
    int error = s->socket < 0 ? ECONNRESET : 0;
    if (!error && send(s->socket, message, sizeof *message, MSG_NOSIGNAL) != (ssize_t)sizeof *message) error = errno;
    while (!error && (error = hlb_receive(s->socket, message, file, 0)) == 0 && message->kind != asked)
        if (message->kind == HLB_BROKEN && message->group < HLB_GROUPS) s->broken |= 1u << message->group;
    if (error) {
        if (s->socket >= 0) close(s->socket);
        s->socket = -1;
        s->broken = ~0u;
    }
    pthread_mutex_unlock(&s->lock);
    return error ? error : message->error;
}

static inline int hlb_ask_of_group(struct hlb_session *s, enum hlb_kind kind, uint32_t group, uint32_t *value) {
    struct hlb_message message;
    memset(&message, 0, sizeof message);
    message.kind = kind;
    message.group = group;
    message.value = value ? *value : 0;
    int error = hlb_ask(s, &message, NULL);
    if (value) *value = message.value;
    return error;
}

static inline void hlb_device_detach(struct hlb_session *s) {
    if (s->socket >= 0) close(s->socket);
    if (s->pins) munmap(s->pins, sizeof *s->pins);
    pthread_mutex_destroy(&s->lock);
    s->socket = -1;
    s->pins = NULL;
}

/* Connects to the daemon, which must be this user's or root's, and learns the facts. ENOENT or ECONNREFUSED: none. */
static inline int hlb_device_attach(struct hlb_session *s) {
    struct sockaddr_un address;
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    struct timeval limit;
    struct hlb_message hello;
    int file = -1;
    memset(s, 0, sizeof *s);
    memset(&hello, 0, sizeof hello);
    pthread_mutex_init(&s->lock, NULL);
    s->port = HLB_ANY_PORT;
    s->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int error = s->socket < 0 ? errno : hlb_device_address(&address);
    if (!error && connect(s->socket, (struct sockaddr *)&address, sizeof address) != 0) error = errno;
    if (!error && getsockopt(s->socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) error = errno;
    if (!error && peer.uid != 0 && peer.uid != getuid()) error = EPERM;
    limit.tv_sec = HLB_ANSWER_S;
    limit.tv_usec = 0;
    if (!error && setsockopt(s->socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0) error = errno;
    hello.kind = HLB_HELLO;
    hello.facts.version = HLB_VERSION;
    if (!error) error = hlb_ask(s, &hello, &file);
    s->facts = hello.facts;
    if (!error && (s->facts.version != HLB_VERSION || s->facts.ports > HLB_PORTS || s->facts.groups > HLB_GROUPS))
        error = EPROTO;
    if (!error && file >= 0) {
        struct stat is;
        void *memory = fstat(file, &is) != 0 || is.st_size < (off_t)sizeof *s->pins ? MAP_FAILED
            : mmap(NULL, sizeof *s->pins, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (memory == MAP_FAILED) error = EPROTO;
        else s->pins = (struct hlb_pins *)memory;
    }
    if (file >= 0) close(file);
    if (error) hlb_device_detach(s);
    return error;
}

/* Makes this process one of `node`, whose port is `port`, or that which the daemon gives it. EBUSY: another node has it,
 * or all ports are taken. A port is the node's while one of its processes is attached. */
static inline int hlb_device_claim(struct hlb_session *s, const char *node, uint32_t port) {
    struct hlb_message claim;
    memset(&claim, 0, sizeof claim);
    claim.kind = HLB_CLAIM;
    claim.port = port;
    snprintf(claim.node, sizeof claim.node, "%s", node);
    int error = hlb_ask(s, &claim, NULL);
    if (!error) s->port = claim.port;
    return error;
}

/* Has a group of the ports in `members` made, for one caller on behalf of all. EBUSY: all groups are in use. */
static inline int hlb_device_group(struct hlb_session *s, uint32_t members, uint32_t *group) {
    struct hlb_message message;
    memset(&message, 0, sizeof message);
    message.kind = HLB_GROUP;
    message.value = members;
    int error = hlb_ask(s, &message, NULL);
    *group = message.group;
    return error ? error : *group < HLB_GROUPS ? 0 : EPROTO;
}
/* Gives a group back: it is handed out again once all who joined it have left. */
static inline int hlb_device_ungroup(struct hlb_session *s, uint32_t group) {
    return hlb_ask_of_group(s, HLB_UNGROUP, group, NULL);
}

static inline int hlb_device_leave(struct hlb_session *s, struct hlb *b) {
    if (b->shut) b->shut(b);
    return hlb_ask_of_group(s, HLB_LEAVE, b->group, NULL);
}

/* Opens a door to the group: writes the status back, and waits until the device's guard has seen that. The members
 * need not synchronise: one that has not joined yet holds the others' first barrier. */
static inline int hlb_device_join(struct hlb_session *s, uint32_t group, struct hlb *b, uint64_t limit_ns) {
    int error = s->port < HLB_PORTS ? hlb_begin(b, HLB_PORTS, (int)s->port) : EINVAL;
    const char *wires = getenv("HOTLINK_BARRIER_WIRES");
    uint32_t armed = 0;
    if (!error) error = hlb_ask_of_group(s, HLB_JOIN, group, NULL);
    if (error) return error;
    pthread_mutex_lock(&s->lock);
    s->broken &= ~(1u << group); /* news of the group's last life */
    pthread_mutex_unlock(&s->lock);
    b->group = group;
    if (wires && *wires) error = hlb_wires_open(b, wires);
    else if (s->pins) {
        b->oversubscribed = hlb_guess_oversubscribed((int)s->facts.ports + 1); /* the device is a process too */
        hlb_pins_open(b, s->pins);
    } else error = ENODEV;
    for (uint64_t begin = hlb_now_ns(); !error && !(armed >> s->port & 1u); sched_yield()) {
        error = hlb_ask_of_group(s, HLB_ARMED, group, &armed);
        if (!error && hlb_now_ns() - begin >= limit_ns) error = ETIMEDOUT;
    }
    if (error) hlb_device_leave(s, b);
    return error;
}

/* 0 while all members of the door's group and the daemon live; ECONNRESET or EPIPE. For waiters, now and then. */
static inline int hlb_device_lost(struct hlb_session *s, const struct hlb *b) {
    struct hlb_message news;
    int error = 0;
    pthread_mutex_lock(&s->lock);
    if (s->socket < 0) error = ECONNRESET;
    while (!error && (error = hlb_receive(s->socket, &news, NULL, MSG_DONTWAIT)) == 0)
        if (news.kind == HLB_BROKEN && news.group < HLB_GROUPS) s->broken |= 1u << news.group;
    if (error == ETIMEDOUT) error = s->broken >> b->group & 1u ? EPIPE : 0; /* no news */
    pthread_mutex_unlock(&s->lock);
    return error;
}

/* What an error of an attach means, for people. */
static inline const char *hlb_error(int error) {
    switch (error) {
    case 0: return "no error";
    case EPERM: case EACCES: return "not permitted: ports need CAP_SYS_RAWIO and a kernel that is not locked down, a daemon must be this user's or root's";
    case ENOSYS: return "this kernel has no port access (ioperm)";
    case ENOTSUP: return "HOTLINK_BARRIER_WIRES: must be port:0x378 (the first group alone), uio:/dev/uio0 or gpio:/dev/gpiochip0:OUT/IN[,OUT/IN ...], a pair a group";
    case ENODEV: return "this node has no wires to the device: name them in HOTLINK_BARRIER_WIRES (pins in memory reach only the daemon's machine)";
    case ENOENT: case ECONNREFUSED: return "no daemon listens there; start one with `hotlink barrier serve`";
    case ECONNRESET: return "the daemon is gone";
    case EPIPE: return "a member of the group died";
    case EBUSY: return "all ports or groups of the device are in use";
    case ETIMEDOUT: return "the device or a rank did not answer in time";
    case EINVAL: return "rank, rank count (1 to 256), port base or status bit (3 to 6) out of range, or memory not aligned";
    default: return strerror(error);
    }
}

#endif
