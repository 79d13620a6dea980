/* Four processes of one node meet 1,000 times: hotlink's barrier in shared memory, from one header.
 *   cc -I plugins/barrier examples/c/barrier.c -o barrier && ./barrier */
#define _GNU_SOURCE
#include "hotlink_barrier.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { RANKS = 4, ROUNDS = 1000 };
static const uint64_t LIMIT_NS = 10u * 1000000000u;

struct shared {
    struct hlb_flags flags;  /* zeroed memory is a valid start */
    int entered[RANKS];      /* barriers that each rank has entered */
};

static int rank_of(struct shared *shared, int rank) {
    struct hlb barrier;
    if (hlb_flags_attach(&barrier, &shared->flags, RANKS, rank) != 0) return 1;
    for (int round = 1; round <= ROUNDS; round++) {
        __atomic_store_n(&shared->entered[rank], round, __ATOMIC_RELEASE);
        if (hlb_barrier(&barrier, LIMIT_NS) != 0) return 2;
        for (int other = 0; other < RANKS; other++) /* nobody leaves before all have entered */
            if (__atomic_load_n(&shared->entered[other], __ATOMIC_ACQUIRE) < round) return 3;
    }
    return 0;
}

int main(void) {
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return EXIT_FAILURE;
    for (int rank = 0; rank < RANKS; rank++)
        if (fork() == 0) _exit(rank_of(shared, rank));
    int failed = 0, status;
    while (wait(&status) > 0) failed += status != 0;
    printf("%d ranks met %d times, %d failed\n", RANKS, ROUNDS, failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
