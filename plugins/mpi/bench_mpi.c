/* Barriers in one MPI job, in interleaved blocks so that noise meets all alike:
 *
 *     bare     the limit: of two ranks a store and a spin each, of more one shared counter, and yields until it is full
 *     flags    hotlink_barrier.h without the plug-in
 *     plugin   MPI_Barrier with the plug-in loaded
 *     own      the MPI's own barrier (PMPI_Barrier)
 *
 * With a second argument `life`, it times whole lives of communicators of LIFE barriers (duplicated, used, freed), in
 * ns per barrier. Half of them run with the plug-in, which then chooses by itself what it takes over, and half without.
 *
 * Prints CSV: MPI, ranks, series, median and quartiles over blocks of ns per barrier, and the median of the paired
 * ratios to `own`. Where ranks share cores, it also prints how often a rank loses its core in a barrier of each series.
 * A barrier costs there what the operating system takes for that. Run under LD_PRELOAD (make bench). */
#define _GNU_SOURCE
#include "../barrier/hotlink_barrier.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { BLOCKS = 41, SERIES = 4, CALIBRATION = 20, LIFE = 100 };
#define BLOCK_NS 4e6

static struct hlb barrier;
static struct hlb_word *bare_mine, *bare_other;
static uint32_t bare_epoch;
static int all_ranks;

static void bare(void) {
    if (all_ranks > 2) {
        const uint32_t full = ++bare_epoch * (uint32_t)all_ranks;
        __atomic_fetch_add(&bare_mine->value, 1, __ATOMIC_ACQ_REL);
        while ((int32_t)(hlb_load(&bare_mine->value) - full) < 0) sched_yield();
        return;
    }
    __atomic_store_n(&bare_mine->value, ++bare_epoch, __ATOMIC_RELEASE);
    while (__atomic_load_n(&bare_other->value, __ATOMIC_ACQUIRE) < bare_epoch) HLB_PAUSE();
}
static void flags(void) { hlb_barrier(&barrier, 0); }
static void plugin(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void own(void) { PMPI_Barrier(MPI_COMM_WORLD); }

/* How often this process has lost its core. */
static double switches(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_nvcsw + used.ru_nivcsw);
}

static double block_ns(void (*run)(void), int count) {
    PMPI_Barrier(MPI_COMM_WORLD);
    run();
    uint64_t begin = hlb_now_ns();
    for (int k = 0; k < count; k++) run();
    return (double)(hlb_now_ns() - begin) / count;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static double quantile(const double *values, double q) {
    double sorted[BLOCKS];
    memcpy(sorted, values, sizeof sorted);
    qsort(sorted, BLOCKS, sizeof *sorted, ascending);
    return sorted[(int)(q * (BLOCKS - 1) + 0.5)];
}

static double life_ns(int (*run)(MPI_Comm)) {
    MPI_Comm copy;
    PMPI_Barrier(MPI_COMM_WORLD);
    uint64_t begin = hlb_now_ns();
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    for (int k = 0; k < LIFE; k++) run(copy);
    MPI_Comm_free(&copy);
    return (double)(hlb_now_ns() - begin) / LIFE;
}

static void lives(const char *mpi, int rank, int ranks, unsigned long (*taken)(void)) {
    double plug[BLOCKS], without[BLOCKS], ratio[BLOCKS];
    for (int b = 0; b < BLOCKS; b++) {
        if (b % 2) without[b] = life_ns(PMPI_Barrier);
        plug[b] = life_ns(MPI_Barrier);
        if (b % 2 == 0) without[b] = life_ns(PMPI_Barrier);
        ratio[b] = plug[b] / without[b];
    }
    if (rank) return;
    printf("%s,%d,life,%.1f,%.1f,%.1f,%.3f\n", mpi, ranks, quantile(plug, 0.5), quantile(plug, 0.25), quantile(plug, 0.75),
           quantile(ratio, 0.5));
    printf("# %s, %d ranks: %lu of %d barriers taken over\n", mpi, ranks, taken ? taken() : 0, BLOCKS * LIFE);
}

int main(int argc, char **argv) {
    static const char *name[SERIES] = {"bare", "flags", "plugin", "own"};
    static void (*const run[SERIES])(void) = {bare, flags, plugin, own};
    double ns[SERIES][BLOCKS], ratio[BLOCKS], lost[SERIES] = {0}, all_lost[SERIES];
    int rank, ranks, count[SERIES];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *mpi = argc > 1 ? argv[1] : "MPI";
    unsigned long (*taken)(void) = (unsigned long (*)(void))dlsym(RTLD_DEFAULT, "hotlink_barriers_taken");

    double load = 0;
    if (rank == 0 && getloadavg(&load, 1) == 1 && load > 0.5)
        printf("# load average %.1f on %ld cores: other work disturbs these figures\n", load, sysconf(_SC_NPROCESSORS_ONLN));

    if (argc > 2) {
        lives(mpi, rank, ranks, taken);
        MPI_Finalize();
        return 0;
    }
    size_t bytes = hlb_flags_bytes(ranks) + 3 * HLB_LINE;
    char *memory;
    MPI_Win window;
    MPI_Aint size;
    int unit;
    MPI_Win_allocate_shared(rank == 0 ? (MPI_Aint)bytes : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_shared_query(window, 0, &size, &unit, &memory);
    memory += (HLB_LINE - (uintptr_t)memory % HLB_LINE) % HLB_LINE;
    if (rank == 0) memset(memory, 0, bytes - HLB_LINE);
    PMPI_Barrier(MPI_COMM_WORLD);
    hlb_flags_attach(&barrier, memory, ranks, rank);
    all_ranks = ranks;
    bare_mine = (struct hlb_word *)(memory + hlb_flags_bytes(ranks)) + (ranks == 2 ? rank : 0);
    bare_other = (struct hlb_word *)(memory + hlb_flags_bytes(ranks)) + 1 - (rank & 1);

    for (int k = 0; k < 10; k++) plugin();
    for (int s = 0; s < SERIES; s++) {
        double each = block_ns(run[s], CALIBRATION);
        count[s] = each * 5 > BLOCK_NS ? 5 : (int)(BLOCK_NS / each);
        MPI_Bcast(&count[s], 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    for (int b = 0; b < BLOCKS; b++)
        for (int k = 0; k < SERIES; k++) {
            int s = (b + k) % SERIES; /* each series in each place */
            const double before = switches();
            ns[s][b] = block_ns(run[s], count[s]);
            lost[s] += (switches() - before) / count[s] / BLOCKS;
        }
    MPI_Reduce(lost, all_lost, SERIES, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        for (int s = 0; s < SERIES; s++) {
            for (int b = 0; b < BLOCKS; b++) ratio[b] = ns[s][b] / ns[SERIES - 1][b];
            printf("%s,%d,%s,%.1f,%.1f,%.1f,%.3f\n", mpi, ranks, name[s], quantile(ns[s], 0.5), quantile(ns[s], 0.25),
                   quantile(ns[s], 0.75), quantile(ratio, 0.5));
        }
    if (rank == 0 && ranks > sysconf(_SC_NPROCESSORS_ONLN)) {
        printf("# %s, %d ranks: a rank loses its core so often in a barrier:", mpi, ranks);
        for (int s = 0; s < SERIES; s++) printf("%s %s %.1f", s ? "," : "", name[s], all_lost[s] / ranks);
        printf("\n");
    }
    if (rank == 0 && (!taken || taken() == 0)) fprintf(stderr, "bench: the plug-in is not at work\n");
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
