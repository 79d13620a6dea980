/* A barrier device beside the bare limit, in interleaved blocks so that the machine's moods hit both alike:
 *
 *   bench_device flags RANKS SECONDS              flags in shared memory
 *   bench_device rtl RANKS SECONDS SERVER         the compiled RTL, served by SERVER (serve.cpp)
 *
 * Prints `count BARE DEVICE`, the barriers in a block of each, then a line per block: ns per barrier of the bare limit
 * (ranks 0 and 1: a store to one's own line and a spin on the other's), ns per barrier of the device (the slowest
 * rank's), and for the RTL its clocks and ns per clock in that block. Run by `hotlink measure barrier --device`. */
#define _GNU_SOURCE
#include "hotlink_barrier.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define SECOND 1000000000ull
#define BLOCK_NS 2e6
#define FEWEST 20
#define MOST 20000
#define CALIBRATION 50
#define LIMIT_NS (20 * SECOND) /* of one barrier: a dead rank must not hold the others for ever */

enum { BARE, DEVICE, SERIES };

static struct shared {
    struct hlb_flags meeting, flags; /* the meeting between blocks, and the device under test */
    struct hlb_word bare[2];
    double ns[SERIES][HLB_MAX_RANKS];
    int count[SERIES], more;
} *shared;
static struct hlb meeting, device;
static struct hlb_pins *pins;
static uint32_t bare_epoch;
static int rank, ranks;

static void barrier(struct hlb *b) {
    int error = hlb_barrier(b, LIMIT_NS);
    if (error) {
        fprintf(stderr, "bench_device: rank %d: %s\n", rank, hlb_error(error));
        exit(1);
    }
}

static void bare(void) {
    const struct hlb_word *other = &shared->bare[1 - rank];
    const uint32_t epoch = ++bare_epoch;
    __atomic_store_n(&shared->bare[rank].value, epoch, __ATOMIC_RELEASE);
    for (uint32_t k = 1; !hlb_reached(other, epoch); k++)
        if (k % 65536) HLB_PAUSE();
        else sched_yield(); /* the other cannot run while this one spins: they share a core */
}
static void on_device(void) { barrier(&device); }

/* The first barrier of a block lets all start together. */
static void block(int series, int count) {
    barrier(&meeting);
    if (series == DEVICE || rank < 2) {
        void (*run)(void) = series == BARE ? bare : on_device;
        run();
        uint64_t begin = hlb_now_ns();
        for (int k = 0; k < count; k++) run();
        shared->ns[series][rank] = (double)(hlb_now_ns() - begin) / count;
    }
    barrier(&meeting);
}

static double slowest(int series) {
    double worst = 0;
    for (int k = 0; k < (series == BARE ? 2 : ranks); k++)
        if (shared->ns[series][k] > worst) worst = shared->ns[series][k];
    return worst;
}

static uint64_t clocks(void) { return pins ? __atomic_load_n(&pins->clocks, __ATOMIC_RELAXED) : 0; }

static int attach(void) {
    int error = hlb_flags_attach(&meeting, &shared->meeting, ranks, rank);
    meeting.oversubscribed = 1; /* whoever waits for the next block leaves its core to those who are measured */
    if (error) return error;
    return pins ? hlb_pins_attach(&device, pins, ranks, rank, LIMIT_NS)
                : hlb_flags_attach(&device, &shared->flags, ranks, rank);
}

/* Each rank on a core of its own, as launchers bind them: two that the scheduler puts on one core would measure it. */
static void bind(void) {
    cpu_set_t allowed, mine;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    int left = rank % CPU_COUNT(&allowed);
    size_t cpu = 0;
    while (!CPU_ISSET(cpu, &allowed) || left-- > 0) cpu++;
    CPU_ZERO(&mine);
    CPU_SET(cpu, &mine);
    sched_setaffinity(0, sizeof mine, &mine);
}

/* Barriers to a block, by the best of three tries. */
static void calibrate(int series) {
    for (int turn = 0; turn < 3; turn++) {
        block(series, CALIBRATION);
        double fit = BLOCK_NS / slowest(series);
        if (rank == 0 && fit > shared->count[series]) shared->count[series] = fit > MOST ? MOST : (int)fit;
    }
    if (rank == 0 && shared->count[series] < FEWEST) shared->count[series] = FEWEST;
    barrier(&meeting);
}

static int run_rank(double seconds) {
    bind();
    int error = attach();
    if (error) return fprintf(stderr, "bench_device: rank %d: %s\n", rank, hlb_error(error)), 1;
    calibrate(BARE);
    calibrate(DEVICE);
    if (rank == 0) printf("count %d %d\n", shared->count[BARE], shared->count[DEVICE]);
    uint64_t begin = hlb_now_ns();
    do {
        block(BARE, shared->count[BARE]);
        uint64_t before = clocks(), at = hlb_now_ns();
        block(DEVICE, shared->count[DEVICE]);
        uint64_t ticks = clocks() - before, took = hlb_now_ns() - at;
        if (rank == 0) {
            printf("%.2f %.2f %.2f %.2f\n", slowest(BARE), slowest(DEVICE), (double)ticks / shared->count[DEVICE],
                   ticks ? (double)took / (double)ticks : 0.0);
            shared->more = (double)(hlb_now_ns() - begin) < seconds * 1e9;
        }
        barrier(&meeting);
    } while (shared->more);
    return 0;
}

/* The server's shared memory, once it is there and whole. */
static struct hlb_pins *pins_of(const char *name, pid_t server) {
    for (int k = 0; k < 2000; k++, usleep(5000)) {
        if (waitpid(server, NULL, WNOHANG) == server) return NULL;
        int file = shm_open(name, O_RDWR, 0);
        if (file < 0) continue;
        int whole = lseek(file, 0, SEEK_END) >= (off_t)sizeof(struct hlb_pins);
        void *memory = whole ? mmap(NULL, sizeof *pins, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
        close(file);
        if (memory != MAP_FAILED) return memory;
    }
    return NULL;
}

static pid_t serve(const char *program, const char *count, const char *seconds) {
    char name[64];
    snprintf(name, sizeof name, "/hotlink-bench-%d", (int)getpid());
    fflush(stdout);
    pid_t server = fork();
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        char limit[32];
        snprintf(limit, sizeof limit, "%d", atoi(seconds) + 60);
        execl(program, program, "--quiet", "1", "--ranks", count, "--shm", name, "--seconds", limit, NULL);
        perror(program);
        _exit(1);
    }
    if ((pins = pins_of(name, server)) == NULL) {
        fprintf(stderr, "bench_device: %s did not start\n", program);
        exit(1);
    }
    return server;
}

int main(int argc, char **argv) {
    int rtl = argc == 5 && strcmp(argv[1], "rtl") == 0, failed = 0, status;
    if (!rtl && !(argc == 4 && strcmp(argv[1], "flags") == 0))
        return fprintf(stderr, "usage: bench_device flags RANKS SECONDS | rtl RANKS SECONDS SERVER\n"), 2;
    ranks = atoi(argv[2]);
    if (ranks < 2 || ranks > (rtl ? 32 : HLB_MAX_RANKS)) return fprintf(stderr, "bench_device: ranks: %s\n", argv[2]), 2;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return perror("bench_device: mmap"), 1;
    pid_t server = rtl ? serve(argv[4], argv[2], argv[3]) : 0, child[HLB_MAX_RANKS];
    for (rank = 0; rank < ranks; rank++)
        if ((child[rank] = fork()) == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            exit(run_rank(atof(argv[3])));
        }
    for (int k = 0; k < ranks; k++) {
        waitpid(child[k], &status, 0);
        failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    if (server) {
        kill(server, SIGTERM);
        waitpid(server, &status, 0);
    }
    return failed;
}
