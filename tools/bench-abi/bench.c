/* Times of short calls, under whichever MPI library the program finds: compiled once for the standard ABI (see
 * `run`). Usage: bench SECONDS single|multiple|crowd: the most for each quantity; two ranks with that thread level, or
 * many ranks. Each line is "WHAT MEDIAN_US" of blocks. A block is long enough for the clock. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 31, SHORT = 8, ROW = 1000 };
static int rank, ranks;
static double budget_s;
static char buffer[SHORT], other[SHORT];
static long from = 1, into, expected, row[ROW];
static MPI_Win window;

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void pingpong(void) {
    if (rank == 0) {
        MPI_Send(buffer, SHORT, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(other, SHORT, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(other, SHORT, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer, SHORT, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
}

static void ring(void) {
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    MPI_Sendrecv(buffer, SHORT, MPI_BYTE, right, 1, other, SHORT, MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void barrier(void) {
    MPI_Barrier(MPI_COMM_WORLD);
}

static void allreduce(void) {
    double one = 1, sum;
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void broadcast(void) {
    MPI_Bcast(buffer, SHORT, MPI_BYTE, 0, MPI_COMM_WORLD);
}

/* One-sided: rank 0 alone asks. */
static void put(void) {
    MPI_Put(&from, 1, MPI_LONG, 1, 0, 1, MPI_LONG, window);
    MPI_Win_flush(1, window);
}

static void get(void) {
    MPI_Get(&into, 1, MPI_LONG, 1, 0, 1, MPI_LONG, window);
    MPI_Win_flush(1, window);
}

static void fetch_and_op(void) {
    MPI_Fetch_and_op(&from, &into, MPI_LONG, 1, 0, MPI_SUM, window);
    MPI_Win_flush(1, window);
}

static void compare_and_swap(void) {
    MPI_Compare_and_swap(&from, &expected, &into, MPI_LONG, 1, 0, window);
    MPI_Win_flush(1, window);
}

static void add(int count) {
    MPI_Accumulate(row, count, MPI_LONG, 1, 0, count, MPI_LONG, MPI_SUM, window);
    MPI_Win_flush(1, window);
}

static void add_10(void) {
    add(10);
}

static void add_1000(void) {
    add(ROW);
}

static void get_add_10(void) {
    static long were[10];
    MPI_Get_accumulate(row, 10, MPI_LONG, were, 10, MPI_LONG, 1, 0, 10, MPI_LONG, MPI_SUM, window);
    MPI_Win_flush(1, window);
}

static void lock_put_unlock(void) {
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
    MPI_Put(&from, 1, MPI_LONG, 1, 0, 1, MPI_LONG, window);
    MPI_Win_unlock(1, window);
}

/* All ranks. */
static void fences(void) {
    if (rank == 0)
        MPI_Put(&from, 1, MPI_LONG, 1, 0, 1, MPI_LONG, window);
    MPI_Win_fence(0, window);
}

static double seconds(void (*once)(void), long count) {
    double start = MPI_Wtime();
    for (long i = 0; i < count; i++)
        once();
    return MPI_Wtime() - start;
}

/* The median of blocks, by the clock of the rank that counts. */
static double blocks(void (*once)(void), long count, int together) {
    double us[BLOCKS], begin = MPI_Wtime();
    int n = 0, more = 1;
    while (more) {
        if (together)
            MPI_Barrier(MPI_COMM_WORLD);
        us[n++] = seconds(once, count) * 1e6 / count;
        more = n < BLOCKS && (n < 3 || MPI_Wtime() - begin < budget_s);
        if (together)
            MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    qsort(us, n, sizeof *us, ascending);
    return us[n / 2];
}

/* Enough calls that a block takes its share of the time. */
static long counted(double once_s) {
    double block_s = budget_s / BLOCKS, count = block_s / (once_s > 1e-9 ? once_s : 1e-9);
    return count < 1 ? 1 : count > 1e5 ? 100000 : (long)count;
}

static void report(const char *what, double us) {
    if (rank == 0) {
        printf("%s %.5f\n", what, us);
        fflush(stdout);
    }
}

static void together(const char *what, void (*once)(void), double part) {
    long count;
    for (int warm = 0; warm < 2; warm++) {
        long tries = warm && ranks < 3 ? 200 : 2;
        MPI_Barrier(MPI_COMM_WORLD);
        count = counted(seconds(once, tries) / tries);
        MPI_Bcast(&count, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    }
    report(what, blocks(once, count, 1) * part);
}

/* Rank 0 asks. Rank 1 waits in a call, or computes and calls nothing until a message outside of the library ends
 * that. */
static void alone(const char *what, void (*once)(void), volatile long *stop) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        long count = counted(seconds(once, 20) / 20);
        double us = blocks(once, count, 0);
        if (stop)
            *stop = 1;
        report(what, us);
    } else if (stop) {
        while (!*stop)
            ;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (stop && rank == 0)
        *stop = 0;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void one_sided(void) {
    static const struct { const char *what; void (*once)(void); } all[] = {
        {"put", put}, {"get", get}, {"fetch-and-op", fetch_and_op}, {"compare-and-swap", compare_and_swap},
        {"accumulate-10", add_10}, {"get-accumulate-10", get_add_10}, {"accumulate-1000", add_1000}};
    char what[64];
    static long memory[ROW];
    long *flag, size;
    int unit;
    MPI_Win flags;
    MPI_Win_allocate_shared(rank ? 0 : 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &flag, &flags);
    MPI_Win_shared_query(flags, 0, &size, &unit, &flag);
    *flag = 0;
    /* Memory of its own last: not every library goes on with it while the target computes. */
    for (int kind = 0; kind < 2; kind++) {
        long *base;
        if (kind)
            MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
        else
            MPI_Win_allocate(sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
        const char *of = kind ? "created" : "allocated";
        MPI_Win_lock_all(0, window);
        for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
            snprintf(what, sizeof what, "%s-%s", all[i].what, of);
            alone(what, all[i].once, NULL);
            snprintf(what, sizeof what, "%s-%s-computing", all[i].what, of);
            if (!kind)
                alone(what, all[i].once, flag);
        }
        MPI_Win_unlock_all(window);
        snprintf(what, sizeof what, "lock-put-unlock-%s", of);
        alone(what, lock_put_unlock, NULL);
        MPI_Win_fence(0, window);
        snprintf(what, sizeof what, "put-fence-%s", of);
        together(what, fences, 1);
        MPI_Win_free(&window);
    }
    MPI_Win_free(&flags);
}

int main(int argc, char **argv) {
    int provided;
    if (argc < 3) {
        fprintf(stderr, "usage: bench SECONDS single|multiple|crowd\n");
        return 2;
    }
    budget_s = atof(argv[1]);
    int multiple = !strcmp(argv[2], "multiple");
    MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (multiple && provided != MPI_THREAD_MULTIPLE) {
        fprintf(stderr, "no MPI_THREAD_MULTIPLE\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (ranks == 2)
        together("pingpong", pingpong, 0.5);
    else
        together("ring", ring, 1);
    together("barrier", barrier, 1);
    together("allreduce", allreduce, 1);
    if (ranks > 2)
        together("broadcast", broadcast, 1);
    else if (!multiple)
        one_sided();
    MPI_Finalize();
    return 0;
}
