/* The cost to rank 1 while rank 0 waits in a barrier. Operations are one-sided ones on rank 0's memory, a large
 * isend that rank 0 has received early, and a helper thread's ping-pong. Each runs with the MPI's own barrier
 * (PMPI_Barrier) and with the plug-in (MPI_Barrier), in interleaved blocks of one job. Prints CSV: MPI, operation,
 * median us per operation under each, and the median of the paired ratios. Run under LD_PRELOAD (make bench-progress)
 * on two ranks. */
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Four threads that spin on two cores take a scheduler's slice for each hand-over: few of those suffice. */
enum { BLOCKS = 21, COUNT = 200, HELPED = 5, LARGE = 1 << 22 };

static int rank;
static MPI_Win window;
static long *word;
static char *large;
static MPI_Comm helpers;

static void fetch_and_op(void) {
    long one = 1, before;
    MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window);
}
static void accumulate(void) {
    long one = 1;
    MPI_Accumulate(&one, 1, MPI_LONG, 0, 1, 1, MPI_LONG, MPI_SUM, window);
    MPI_Win_flush(0, window);
}

static double one_sided_us(void (*operation)(void), int (*barrier)(MPI_Comm)) {
    double begin = MPI_Wtime(), took;
    for (int k = 0; rank == 1 && k < COUNT; k++) operation();
    took = (MPI_Wtime() - begin) / COUNT * 1e6;
    barrier(MPI_COMM_WORLD);
    return took;
}
static double large_isend_us(int (*barrier)(MPI_Comm)) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0) MPI_Irecv(large, LARGE, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
    PMPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime(), took;
    if (rank == 1) {
        MPI_Isend(large, LARGE, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    took = (MPI_Wtime() - begin) * 1e6;
    barrier(MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return took;
}
static void *help(void *argument) {
    char byte = 0;
    (void)argument;
    for (int k = 0; k < HELPED; k++) {
        if (rank == 1) MPI_Send(&byte, 1, MPI_BYTE, 0, 2, helpers);
        MPI_Recv(&byte, 1, MPI_BYTE, 1 - rank, 2, helpers, MPI_STATUS_IGNORE);
        if (rank == 0) MPI_Send(&byte, 1, MPI_BYTE, 1, 2, helpers);
    }
    return NULL;
}
static double helper_us(int (*barrier)(MPI_Comm)) {
    pthread_t thread;
    double begin = MPI_Wtime(), took;
    pthread_create(&thread, NULL, help, NULL);
    if (rank == 1) pthread_join(thread, NULL);
    took = (MPI_Wtime() - begin) / HELPED * 1e6;
    barrier(MPI_COMM_WORLD);
    if (rank == 0) pthread_join(thread, NULL);
    return took;
}

static double block_us(int what, int (*barrier)(MPI_Comm)) {
    PMPI_Barrier(MPI_COMM_WORLD);
    switch (what) {
    case 0: return one_sided_us(fetch_and_op, barrier);
    case 1: return one_sided_us(accumulate, barrier);
    case 2: return large_isend_us(barrier);
    default: return helper_us(barrier);
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double median(double *values) {
    qsort(values, BLOCKS, sizeof *values, ascending);
    return values[BLOCKS / 2];
}

int main(int argc, char **argv) {
    static const char *name[] = {"fetch-and-op", "accumulate", "isend of 4 MiB", "helper thread's ping-pong"};
    static int (*const barrier[])(MPI_Comm) = {MPI_Barrier, PMPI_Barrier};
    int level, ranks;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2) MPI_Abort(MPI_COMM_WORLD, 2);
    large = calloc(1, LARGE);
    MPI_Comm_dup(MPI_COMM_WORLD, &helpers);
    MPI_Win_allocate(2 * sizeof *word, sizeof *word, MPI_INFO_NULL, MPI_COMM_WORLD, &word, &window);
    word[0] = word[1] = 0;
    MPI_Win_lock_all(0, window);
    for (int k = 0; k < 10; k++) MPI_Barrier(MPI_COMM_WORLD);
    for (int what = 0; what < (level == MPI_THREAD_MULTIPLE ? 4 : 3); what++) {
        double us[2][BLOCKS], ratio[BLOCKS];
        for (int b = 0; b < BLOCKS; b++) {
            for (int k = 0; k < 2; k++) us[(b + k) % 2][b] = block_us(what, barrier[(b + k) % 2]);
            ratio[b] = us[0][b] / us[1][b];
        }
        if (rank == 1)
            printf("%s,%s,%.2f,%.2f,%.2f\n", argc > 1 ? argv[1] : "MPI", name[what], median(us[0]), median(us[1]), median(ratio));
    }
    unsigned long (*taken)(void) = (unsigned long (*)(void))dlsym(RTLD_DEFAULT, "hotlink_barriers_taken");
    if (rank == 0 && (!taken || taken() == 0)) fprintf(stderr, "bench: the plug-in is not at work\n");
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
