/* Accumulates of one element and of many, fetch-and-op and compare-and-swap on the same elements, all at once: nothing is
 * lost. Elements are at odd addresses, too, which have no atomic instruction. Usage: atomics [ROUNDS [ELEMENTS]]. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { SHORTS = 200 };
static int rank, ranks, failed;

/* Each element was added to so often, and the first few got some more. */
static void check(const char *what, const char *base, long elements, long each, const long *more, int few) {
    for (long i = 0; i < elements; i++) {
        long due = each + (i < few ? more[i] : 0), is;
        memcpy(&is, base + i * sizeof is, sizeof is);
        if (is != due && failed++ < 5)
            printf("%s: element %ld is %ld where %ld is due\n", what, i, is, due);
    }
}

static void mix(const char *what, MPI_Win win, char *part, MPI_Aint from, long rounds, long elements) {
    enum { FEW = 4 };
    long *ones = malloc(elements * sizeof *ones), one = 1, two = 2, got, tried[FEW] = {0}, all[FEW];
    for (long i = 0; i < elements; i++)
        ones[i] = 1;
    if (rank == 0)
        memset(part + from, 0, elements * sizeof *ones);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    unsigned state = rank + 1;
    for (long round = 0; round < rounds; round++) {
        /* Ranks take turns in what they do, and do not stay in step. */
        if ((round + rank) % 2 == 0)
            MPI_Accumulate(ones, elements, MPI_LONG, 0, from, elements, MPI_LONG, MPI_SUM, win);
        for (int i = 0; i < SHORTS; i++) {
            state = state * 1664525 + 1013904223;
            int at = (state >> 20) % FEW;
            MPI_Aint disp = from + at * sizeof(long);
            switch ((state >> 24) % 4) {
            case 0: MPI_Fetch_and_op(&one, &got, MPI_LONG, 0, disp, MPI_SUM, win); tried[at] += 1; break;
            case 1: MPI_Accumulate(&two, 1, MPI_LONG, 0, disp, 1, MPI_LONG, MPI_SUM, win); tried[at] += 2; break;
            case 2: /* An adding that is a loop of swaps. */
                for (long seen = 0, next;; seen = got) {
                    next = seen + 1;
                    MPI_Compare_and_swap(&next, &seen, &got, MPI_LONG, 0, disp, win);
                    MPI_Win_flush(0, win);
                    if (got == seen) break;
                }
                tried[at] += 1;
                break;
            default: MPI_Get_accumulate(NULL, 0, MPI_LONG, &got, 1, MPI_LONG, 0, disp, 1, MPI_LONG, MPI_NO_OP, win);
            }
        }
        MPI_Win_flush(0, win);
    }
    MPI_Win_unlock_all(win);
    long longs = 0, sum;
    for (long round = 0; round < rounds; round++)
        longs += (round + rank) % 2 == 0;
    MPI_Allreduce(&longs, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(tried, all, FEW, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        check(what, part + from, elements, sum, all, FEW);
    MPI_Barrier(MPI_COMM_WORLD);
    free(ones);
}

/* Short types and operators: many ranks' operations give the result of one rank's. */
#define SMALL(type, name, op, start, by, due) do { \
    type with = (type)(by), old; \
    if (rank == 0) { type first = (type)(start); memcpy(part, &first, sizeof first); } \
    MPI_Barrier(MPI_COMM_WORLD); \
    MPI_Win_lock_all(0, win); \
    for (int i = 0; i < 10; i++) MPI_Fetch_and_op(&with, &old, name, 0, 0, op, win); \
    MPI_Win_unlock_all(win); \
    MPI_Barrier(MPI_COMM_WORLD); \
    if (rank == 0 && *(type *)part != (type)(due)) { printf(#name " " #op ": wrong\n"); failed++; } \
    MPI_Barrier(MPI_COMM_WORLD); \
} while (0)

static void small(MPI_Win win, char *part) {
    int all = 10 * ranks;
    SMALL(signed char, MPI_SIGNED_CHAR, MPI_SUM, -100, 1, all - 100);
    SMALL(short, MPI_SHORT, MPI_SUM, -5, 7, 7 * all - 5);
    SMALL(unsigned, MPI_UNSIGNED, MPI_MAX, 3, rank, ranks > 4 ? ranks - 1 : 3);
    SMALL(int, MPI_INT, MPI_MIN, 3, -rank, ranks > 1 ? 1 - ranks : 0);
    SMALL(float, MPI_FLOAT, MPI_SUM, 0.5, 0.25, 0.5 + 0.25 * all);
    SMALL(double, MPI_DOUBLE, MPI_SUM, 0.5, 0.25, 0.5 + 0.25 * all);
    SMALL(double, MPI_DOUBLE, MPI_PROD, 1, rank ? 1 : 2, 1024);
    SMALL(long, MPI_LONG, MPI_BXOR, 5, 3, all % 2 ? 6 : 5);
    SMALL(long, MPI_LONG, MPI_REPLACE, 5, 3, 3);
    SMALL(long, MPI_LONG, MPI_NO_OP, 5, 3, 5);
}

int main(int argc, char **argv) {
    long rounds = argc > 1 ? atol(argv[1]) : 20, elements = argc > 2 ? atol(argv[2]) : 100000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char *part, *own = malloc((elements + 20) * sizeof(long));
    MPI_Win win;
    MPI_Win_allocate((elements + 20) * sizeof(long), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win);
    mix("allocated", win, part, 0, rounds, elements);
    mix("at odd addresses", win, part, 1, rounds / 10 + 1, elements / 10 + 10);
    mix("allocated again", win, part, 0, rounds, elements);
    small(win, part);
    MPI_Win_free(&win);
    MPI_Win_create(own, (elements + 20) * sizeof(long), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    mix("created", win, own, 0, rounds / 10 + 1, elements / 10 + 10);
    MPI_Win_free(&win);
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d failures\n", failed);
    MPI_Finalize();
    free(own);
    return failed > 0;
}
