/* A self-test over a node's own wires. Its group has this node's port alone, so that each arrival is released at
 * once and no other node takes part. It names the wire that does not follow.
 *
 *     barrier-check PORT|any [ROUNDS]
 *
 * Ends with 1 where a wire fails, 2 where there is no device. */
#define _GNU_SOURCE
#include "hotlink_device.h"

#define SECOND 1000000000ull
#define STATUS 2u

static int failed(const char *what) {
    printf("%s\n", what);
    return 1;
}

/* The released level of the group, as the device itself has it. */
static unsigned status_of(struct hlb_session *s, uint32_t group) {
    uint32_t value = STATUS;
    return hlb_ask_of_group(s, HLB_READ, group, &value) == 0 ? value >> group & 1u : 0;
}

/* `rounds` arrivals, each released at once; returns 0, or says what does not follow. */
static int follow(struct hlb_session *s, struct hlb *b, int rounds) {
    char text[200];
    for (int round = 0; round < rounds; round++) {
        const unsigned before = status_of(s, b->group);
        hlb_enter(b);
        if (hlb_wait(b, SECOND, NULL, NULL) == 0) continue;
        const unsigned level = b->epoch & 1u, after = status_of(s, b->group);
        if (before == level) snprintf(text, sizeof text, "port %u: IN shows %u, the device releases %u: the wire IN, or one of another port", s->port, 1 - before, before);
        else if (after == level) snprintf(text, sizeof text, "port %u: the device released %u, IN does not show it: the wire IN", s->port, level);
        else snprintf(text, sizeof text, "port %u: OUT went to %u, the device does not see it: the wire OUT, or it goes to another port", s->port, level);
        return failed(text);
    }
    return 0;
}

int main(int argc, char **argv) {
    struct hlb_session s;
    struct hlb b;
    char host[64] = "", name[100], text[200];
    uint32_t group, port = argc > 1 && strcmp(argv[1], "any") != 0 ? (uint32_t)strtoul(argv[1], NULL, 10) : HLB_ANY_PORT;
    int rounds = argc > 2 ? atoi(argv[2]) : 1000, error = hlb_device_attach(&s);
    if (error) return fprintf(stderr, "barrier-check: %s\n", hlb_error(error)), 2;
    gethostname(host, sizeof host - 1);
    snprintf(name, sizeof name, "check %s %d", host, (int)getpid());
    if ((error = hlb_device_claim(&s, name, port)) == 0) error = hlb_device_group(&s, 1u << s.port, &group);
    if (error) return fprintf(stderr, "barrier-check: port %s: %s\n", argc > 1 ? argv[1] : "any", hlb_error(error)), 2;
    error = hlb_device_join(&s, group, &b, 2 * SECOND);
    if (error == ETIMEDOUT) {
        snprintf(text, sizeof text, "port %u: OUT at rest is not seen at the released level: the wire OUT or IN, or one of another port", s.port);
        return failed(text);
    }
    if (error) return fprintf(stderr, "barrier-check: %s\n", hlb_error(error)), 2;
    if (follow(&s, &b, 2)) return 1; /* both levels, each way */
    const uint64_t begin = hlb_now_ns();
    if (follow(&s, &b, rounds)) return 1;
    printf("port %u of %s: OUT and IN follow, %.2f us for %s\n", s.port, s.facts.name, (double)(hlb_now_ns() - begin) / 1000.0 / rounds,
           "an arrival, its release and a look at the registers");
    hlb_device_leave(&s, &b);
    hlb_device_detach(&s);
    return 0;
}
