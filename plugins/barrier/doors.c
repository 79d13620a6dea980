/* The contract of hotlink_device.h as a library, for programs that are not C. One process opens the doors of all
 * nodes that one machine plays, before it forks their ranks. Each door is then one rank's, the first of its node.
 *
 *     doors_open    attaches each node, has one group made of all and joins it
 *     doors_enter, doors_released, doors_lost   one node's: arrive, test, whether the daemon or another node is gone
 *     doors_close   leaves and gives the group back */
#define _GNU_SOURCE
#include "hotlink_device.h"

#define DOORS __attribute__((visibility("default")))
#define JOIN_NS 20000000000ull

struct node { struct hlb_session session; struct hlb door; };
struct doors { uint32_t nodes, group; struct node node[HLB_PORTS]; };

/* Every node attached, all ports in a group, all joined; how far it came is what `close_doors` undoes. */
static int open_doors(struct doors *d) {
    uint32_t members = 0;
    int error = 0;
    for (uint32_t k = 0; !error && k < d->nodes; k++) {
        struct hlb_session *s = &d->node[k].session;
        char name[64];
        if ((error = hlb_device_attach(s)) != 0) {
            s->socket = -1;
            return error;
        }
        snprintf(name, sizeof name, "messages %d node %u", (int)getpid(), k);
        if (!s->pins) error = ENODEV; /* a node's own wires are one node's: others would have to be other machines */
        else if ((error = hlb_device_claim(s, name, HLB_ANY_PORT)) == 0) members |= 1u << s->port;
    }
    if (!error) error = hlb_device_group(&d->node[0].session, members, &d->group);
    for (uint32_t k = 0; !error && k < d->nodes; k++)
        error = hlb_device_join(&d->node[k].session, d->group, &d->node[k].door, JOIN_NS);
    return error;
}

DOORS void doors_close(struct doors *d) {
    /* The daemon frees the ports and the group as the connections end. */
    for (uint32_t k = 0; k < d->nodes; k++)
        if (d->node[k].session.socket >= 0) hlb_device_detach(&d->node[k].session);
    free(d);
}

/* Doors for `ranks` ranks at the daemon that listens at `path` (NULL: the user's). Nodes are of as many consecutive
 * ranks as the daemon says, which go to `each`; of one rank where all would be on one node. */
DOORS int doors_open(const char *path, uint32_t ranks, uint32_t *each, struct doors **made) {
    struct hlb_session first;
    if (path && setenv("HOTLINK_BARRIER_DEVICE", path, 1) != 0) return errno;
    int error = hlb_device_attach(&first);
    if (error) return error;
    *each = first.facts.ranks_per_node;
    hlb_device_detach(&first);
    if (*each == 0 || *each >= ranks) *each = 1;
    uint32_t nodes = (ranks + *each - 1) / *each;
    struct doors *d = nodes > HLB_PORTS ? NULL : (struct doors *)aligned_alloc(HLB_LINE, (sizeof *d + HLB_LINE - 1) / HLB_LINE * HLB_LINE);
    if (!d) return nodes > HLB_PORTS ? EBUSY : ENOMEM;
    memset(d, 0, sizeof *d);
    d->nodes = nodes;
    for (uint32_t k = 0; k < nodes; k++) d->node[k].session.socket = -1;
    error = open_doors(d);
    if (error) doors_close(d);
    else *made = d;
    return error;
}

DOORS void doors_enter(struct doors *d, uint32_t node) { hlb_enter(&d->node[node].door); }
DOORS int doors_released(struct doors *d, uint32_t node) { return hlb_released(&d->node[node].door); }
DOORS int doors_lost(struct doors *d, uint32_t node) { return hlb_device_lost(&d->node[node].session, &d->node[node].door); }
DOORS const char *doors_error(int error) { return hlb_error(error); }
