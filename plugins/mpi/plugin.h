/* What the parts of the MPI plug-in share. The library is one file for all MPIs: front.c finds out which MPI the
 * process has loaded and hands MPI_Barrier to takeover.c, which is compiled once per MPI binary interface. */
#ifndef HOTLINK_PLUGIN_H
#define HOTLINK_PLUGIN_H

#include <stdint.h>

/* An MPI's symbol, from wherever in the process it is loaded (NULL: it has none). Found by front.c. */
extern void *(*hl_symbol)(const char *name);

extern unsigned long hl_taken;      /* barriers taken over in this process */
extern unsigned long hl_across;     /* of these, met by a device between nodes */
extern unsigned long hl_reads, hl_idles; /* of long waits: reads of flags or pins, and calls of the MPI's progress */
extern unsigned long hl_naps;       /* times a waiting rank slept, when others may have needed its progress: stays 0 */
extern uint32_t hl_generation;      /* counts deleted states, so that no thread trusts a stale cache */

/* What both faces of the take-over define and export, so that a test or a user sees it at work. */
#define HL_COUNTERS \
    unsigned long hl_taken, hl_across, hl_reads, hl_idles, hl_naps; \
    uint32_t hl_generation = 1; \
    HL_COUNTER(hotlink_barriers_taken, hl_taken) \
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
