/* What the parts of the MPI plug-in share. The library is one file for all MPIs: front.c finds out which MPI the
 * process has loaded and hands MPI_Barrier to takeover.c, which is compiled once per MPI binary interface. */
#ifndef HOTLINK_PLUGIN_H
#define HOTLINK_PLUGIN_H

#include <stdint.h>

/* An MPI's symbol, from wherever in the process it is loaded (NULL: it has none). Found by front.c. */
extern void *(*hl_symbol)(const char *name);

extern unsigned long hl_taken;      /* barriers taken over in this process */
extern uint32_t hl_naps;            /* times a waiting rank slept, when others may have needed its progress: stays 0 */
extern uint32_t hl_generation;      /* counts deleted states, so that no thread trusts a stale cache */

/* Weak: a build has those whose mpicc it was made with. */
int hl_barrier_openmpi(void *comm) __attribute__((weak)); /* handles are pointers */
int hl_barrier_mpich(void *comm) __attribute__((weak));   /* handles are ints, widened */
int hl_barrier_abi(void *comm) __attribute__((weak));     /* the standard ABI of MPI 5: handles are pointers */

#endif
