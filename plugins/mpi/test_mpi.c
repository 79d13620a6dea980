/* An ordinary MPI program that holds MPI_Barrier to its promise, with or without the plug-in:
 *
 *     test_mpi all      order, many communicators, progress while waiting, intercommunicators, threads
 *     test_mpi apart    the same but one-sided operations, which an MPI may lack between nodes; needs SHARED_FILE
 *     test_mpi count    barriers until it is told to end, counted in SHARED_FILE
 *     test_mpi abort    rank 0 aborts while the others wait     (the job must end, not hang)
 *     test_mpi die      rank 0 kills itself while the others wait
 *
 * With the plug-in, EXPECT_TAKEN=1 in the environment makes the test fail if no barrier was taken over. EXPECT_DEVICE=1
 * does so if no device between nodes met one. */
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHECK(condition, ...) \
    do { if (!(condition)) { fprintf(stderr, "%s:%d: rank %d: ", __FILE__, __LINE__, rank); \
        fprintf(stderr, __VA_ARGS__); fputc('\n', stderr); MPI_Abort(MPI_COMM_WORLD, 9); } } while (0)

static int rank, ranks;

/* A line for each rank of a communicator: in SHARED_FILE, which nodes that share no memory can open too, or a window. */
enum { LINE = 32, PID = 1, ENTERED = 2 };
static MPI_Win lines_of(MPI_Comm comm, int size, volatile int **all) {
    const char *path = getenv("SHARED_FILE"); if (path && !*path) path = NULL;
    MPI_Win window = MPI_WIN_NULL;
    if (path) {
        int file = open(path, O_RDWR);
        volatile int *lines = file < 0 ? MAP_FAILED : mmap(NULL, 64 * LINE * sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        CHECK(lines != MAP_FAILED, "%s: no memory", path);
        close(file);
        for (int k = 0; k < size; k++) all[k] = lines + k * LINE;
        return window;
    }
    volatile int *mine;
    MPI_Win_allocate_shared(LINE * sizeof(int), 1, MPI_INFO_NULL, comm, (void *)&mine, &window);
    for (int k = 0; k < size; k++) {
        MPI_Aint bytes;
        int unit;
        MPI_Win_shared_query(window, k, &bytes, &unit, (void *)&all[k]);
    }
    return window;
}

/* No rank leaves the n-th barrier before all have entered it. */
static void order(MPI_Comm comm, int rounds, int jitter) {
    int me, size;
    volatile int *mine, *all[64];
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &size);
    MPI_Win window = lines_of(comm, size, all);
    mine = all[me];
    __atomic_store_n(mine, 0, __ATOMIC_SEQ_CST);
    MPI_Allreduce(MPI_IN_PLACE, &(int){0}, 1, MPI_INT, MPI_SUM, comm);
    unsigned seed = 7u + (unsigned)me;
    for (int round = 1; round <= rounds; round++) {
        if (jitter && rand_r(&seed) % 8 == 0) usleep((useconds_t)(rand_r(&seed) % jitter));
        __atomic_store_n(mine, round, __ATOMIC_SEQ_CST);
        CHECK(MPI_Barrier(comm) == MPI_SUCCESS, "barrier %d failed", round);
        for (int k = 0; k < size; k++) {
            int seen = __atomic_load_n(all[k], __ATOMIC_SEQ_CST);
            CHECK(seen == round || seen == round + 1, "left barrier %d while rank %d is at %d", round, k, seen);
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &(int){0}, 1, MPI_INT, MPI_SUM, comm); /* all have looked: the lines are free again */
    if (window != MPI_WIN_NULL) MPI_Win_free(&window);
}

/* Barriers on several communicators, counted in SHARED_FILE, until its last line gets a -1. */
static void count_for_ever(void) {
    volatile int *all[64];
    MPI_Comm copy[4];
    lines_of(MPI_COMM_WORLD, 64, all);
    all[rank][PID] = (int)getpid();
    for (int k = 0; k < 4; k++) MPI_Comm_dup(MPI_COMM_WORLD, &copy[k]);
    for (int round = 1, end = 0; !end; round++) {
        __atomic_store_n(&all[rank][ENTERED], round, __ATOMIC_SEQ_CST);
        MPI_Barrier(round % 8 ? MPI_COMM_WORLD : copy[round / 8 % 4]);
        for (int k = 0; k < ranks; k++) {
            int seen = __atomic_load_n(&all[k][ENTERED], __ATOMIC_SEQ_CST);
            CHECK(seen == round || seen == round + 1, "left barrier %d while rank %d is at %d", round, k, seen);
        }
        __atomic_store_n(&all[rank][0], round, __ATOMIC_SEQ_CST);
        end = __atomic_load_n(&all[63][0], __ATOMIC_SEQ_CST) < 0; /* seen by all in the same round: */
        MPI_Bcast(&end, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    for (int k = 0; k < 4; k++) MPI_Comm_free(&copy[k]);
}

/* Communicators come and go, so that handles are used again, some freed before they were ever taken over. */
static void many_communicators(void) {
    for (int turn = 0; turn < 40; turn++) {
        MPI_Comm copy, half;
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
        for (int round = 0; round < turn % 8; round++) {
            MPI_Barrier(copy);
            MPI_Barrier(half);
            MPI_Barrier(MPI_COMM_SELF);
        }
        MPI_Comm_free(&half);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Comm_free(&copy);
    }
}

/* Rank 1's blocking send needs rank 0's half of the rendezvous while rank 0 already waits in the barrier. */
static void progress_while_waiting(void) {
    enum { BYTES = 1 << 22 };
    char *buffer = malloc(BYTES);
    for (int turn = 0; turn < 10; turn++) {
        MPI_Request request = MPI_REQUEST_NULL;
        memset(buffer, rank == 1 ? turn + 1 : 0, BYTES);
        if (rank == 0) MPI_Irecv(buffer, BYTES, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &request);
        if (rank == 1) MPI_Send(buffer, BYTES, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == 0) CHECK(buffer[0] == turn + 1 && buffer[BYTES - 1] == turn + 1, "message %d", turn);
    }
    free(buffer);
}

/* Rank 1's one-sided operations on rank 0's memory while rank 0 waits in the barrier. */
static void one_sided_while_waiting(void) {
    long *word, one = 1, before, sum = 0;
    MPI_Win window;
    MPI_Win_allocate(2 * sizeof *word, sizeof *word, MPI_INFO_NULL, MPI_COMM_WORLD, &word, &window);
    word[0] = word[1] = 0;
    MPI_Win_lock_all(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int turn = 0; rank == 1 && turn < 500; turn++) {
        MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, 0, MPI_SUM, window);
        MPI_Win_flush(0, window);
        CHECK(before == turn, "fetch_and_op %d saw %ld", turn, before);
        MPI_Accumulate(&one, 1, MPI_LONG, 0, 1, 1, MPI_LONG, MPI_SUM, window);
        MPI_Win_flush(0, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_sync(window);
        sum = word[0] + word[1];
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    if (rank == 0) CHECK(sum == 1000, "%ld of 1000 one-sided operations arrived", sum);
}

static void intercommunicator(void) {
    MPI_Comm half, inter;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &inter);
    for (int round = 0; round < 10; round++) MPI_Barrier(inter);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static void *barriers_of_a_thread(void *comm) {
    for (int round = 0; round < 200; round++) MPI_Barrier(*(MPI_Comm *)comm);
    return NULL;
}

static void threads(void) {
    pthread_t thread[3];
    MPI_Comm comm[3];
    for (int k = 0; k < 3; k++) MPI_Comm_dup(MPI_COMM_WORLD, &comm[k]);
    for (int k = 0; k < 3; k++) pthread_create(&thread[k], NULL, barriers_of_a_thread, &comm[k]);
    for (int k = 0; k < 3; k++) pthread_join(thread[k], NULL);
    for (int k = 0; k < 3; k++) MPI_Comm_free(&comm[k]);
}

/* A counter of the plug-in; 0 without it. */
static unsigned long counted(const char *name) {
    unsigned long (*counter)(void) = (unsigned long (*)(void))dlsym(RTLD_DEFAULT, name);
    return counter ? counter() : 0;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "all";
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (strcmp(what, "count") == 0) {
        count_for_ever();
        MPI_Finalize();
        return 0;
    }
    for (int round = 0; round < 10; round++) MPI_Barrier(MPI_COMM_WORLD);
    int apart = strcmp(what, "apart") == 0;
    if (strcmp(what, "all") != 0 && !apart) {
        if (rank == 0) {
            usleep(100000);
            if (strcmp(what, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
            kill(getpid(), SIGKILL);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        fprintf(stderr, "rank %d left a barrier that rank 0 never entered\n", rank);
        _exit(0);
    }
    order(MPI_COMM_WORLD, 2000, 0);
    order(MPI_COMM_WORLD, 100, 500);
    many_communicators();
    if (ranks > 1) progress_while_waiting();
    if (ranks > 1 && !apart) one_sided_while_waiting();
    if (ranks > 1) intercommunicator();
    if (level == MPI_THREAD_MULTIPLE) threads();
    const char *expect = getenv("EXPECT_TAKEN"), *device = getenv("EXPECT_DEVICE");
    unsigned long taken = counted("hotlink_barriers_taken"), across = counted("hotlink_barriers_by_device");
    if (expect && ranks > 1) CHECK(taken > 2000, "only %lu barriers taken over", taken);
    int leads = across > 2000, some;
    MPI_Allreduce(&leads, &some, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
    if (device) CHECK(some, "no rank met the others' nodes by the device");
    /* Others may need a waiting rank's progress: it never sleeps, and drives the MPI between every few reads. */
    unsigned long naps = counted("hotlink_barrier_naps"), reads = counted("hotlink_barrier_reads"), progress = counted("hotlink_barrier_progress");
    CHECK(naps == 0, "slept %lu times in barriers", naps);
    CHECK(reads <= 4 * progress, "%lu calls of progress among %lu reads", progress, reads);
    if (expect && ranks > 1) CHECK(progress > 0, "no wait was long enough to drive progress");
    if (device && rank == 0) printf("%lu barriers by the device, ", across);
    if (rank == 0) printf("%d ranks%s: passed, %lu barriers taken over\n", ranks,
                          level == MPI_THREAD_MULTIPLE ? ", threads" : "", taken);
    MPI_Finalize();
    return 0;
}
