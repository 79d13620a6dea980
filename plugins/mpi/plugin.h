/* Declarations that the parts of the MPI plug-in share. The library is one file for all MPIs. In it, front.c
 * finds out which MPI the process has loaded and hands MPI_Barrier to takeover.c. The latter is compiled once per MPI
 * binary interface. */
#ifndef HOTLINK_PLUGIN_H
#define HOTLINK_PLUGIN_H

#include <pthread.h>
#include <stdint.h>

#pragma GCC visibility push(hidden) /* the library's own: no detour by a table */

/* An MPI's symbol, from wherever in the process it is loaded (NULL: it has none). Found by front.c. */
extern void *(*hl_symbol)(const char *name);

/* Barriers taken over on one communicator, which one thread at a time uses. A counter of all would take a locked
 * instruction in each barrier, which waits until the store of the flag is done. */
struct hl_tally { unsigned long taken; struct hl_tally *next; };
extern struct hl_tally *hl_open;    /* of communicators that live */
extern unsigned long hl_closed;     /* the sum of those that were freed */
extern pthread_mutex_t hl_tallying;

static inline void hl_count(struct hl_tally *t) { __atomic_store_n(&t->taken, t->taken + 1, __ATOMIC_RELAXED); }
static inline void hl_tally_open(struct hl_tally *t) {
    pthread_mutex_lock(&hl_tallying);
    t->next = hl_open;
    hl_open = t;
    pthread_mutex_unlock(&hl_tallying);
}
static inline void hl_tally_close(struct hl_tally *t) {
    pthread_mutex_lock(&hl_tallying);
    struct hl_tally **link = &hl_open;
    while (*link != t) link = &(*link)->next;
    *link = t->next;
    hl_closed += t->taken;
    pthread_mutex_unlock(&hl_tallying);
}

extern unsigned long hl_across;     /* barriers met by a device between nodes */
extern unsigned long hl_reads, hl_idles; /* of long waits: reads of flags or pins, and calls of the MPI's progress */
extern unsigned long hl_naps;       /* times a waiting rank slept, when others may have needed its progress: stays 0 */
extern uint32_t hl_generation;      /* counts deleted states, so that no thread trusts a stale cache */

#pragma GCC visibility pop

/* What both faces of the take-over define and export, so that a test or a user sees it at work. */
#define HL_COUNTERS \
    unsigned long hl_closed, hl_across, hl_reads, hl_idles, hl_naps; \
    uint32_t hl_generation = 1; \
    struct hl_tally *hl_open; \
    pthread_mutex_t hl_tallying = PTHREAD_MUTEX_INITIALIZER; \
    __attribute__((visibility("default"))) unsigned long hotlink_barriers_taken(void) { \
        pthread_mutex_lock(&hl_tallying); \
        unsigned long taken = hl_closed; \
        for (struct hl_tally *t = hl_open; t; t = t->next) taken += __atomic_load_n(&t->taken, __ATOMIC_RELAXED); \
        pthread_mutex_unlock(&hl_tallying); \
        return taken; \
    } \
    HL_COUNTER(hotlink_barriers_by_device, hl_across) \
    HL_COUNTER(hotlink_barrier_reads, hl_reads) \
    HL_COUNTER(hotlink_barrier_progress, hl_idles) \
    HL_COUNTER(hotlink_barrier_naps, hl_naps)
#define HL_COUNTER(name, counter) \
    __attribute__((visibility("default"))) unsigned long name(void) { return __atomic_load_n(&counter, __ATOMIC_RELAXED); }

/* Weak: a build has those whose mpicc it was made with. */
int hl_barrier_openmpi(void *comm) __attribute__((weak)); /* handles are pointers */
int hl_barrier_mpich(void *comm) __attribute__((weak));   /* handles are ints, widened */
int hl_barrier_abi(void *comm) __attribute__((weak));     /* the standard ABI of MPI 5: handles are pointers */

#endif
