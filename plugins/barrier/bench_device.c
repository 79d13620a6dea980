/* A barrier device against the bare limit, in interleaved blocks so that noise meets both alike:
 *
 *     bench_device flags RANKS SECONDS              flags in shared memory
 *     bench_device rtl RANKS SECONDS SERVER         the compiled RTL: of the daemon that runs, else of SERVER (serve.cpp)
 *
 * Every rank is a node of the device. With one rank (rtl only) a second process serves the bare limit alone. So neither
 * the rank nor the device waits for a core on a machine of two cores: o_w + o_p + o_r by itself.
 *
 * Prints `count BARE DEVICE WHOSE`, the barriers in a block of each and whose device it is (daemon or own). A line per
 * block follows, with times in ns:
 *
 * - a barrier of the bare limit (ranks 0 and 1: a store to one's own line and a spin on the other's);
 * - a barrier of the device (the slowest rank's).
 *
 * For the RTL the line also has the clocks per barrier, and these times in ns:
 *
 * - a clock while nothing moves (a clock that takes a line from a rank waits for it, which is the rank's write or
 *   read);
 * - one write of rank 0's pin (ow), and one read of a line that the device has written since (or).
 *
 * `hotlink measure barrier --device` runs it. */
#define _GNU_SOURCE
#include "hotlink_device.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define SECOND 1000000000ull
#define BLOCK_NS 2e6
#define FEWEST 20
#define MOST 20000
#define CALIBRATION 50
#define OPERATIONS 51
#define REST_NS 2000 /* the device polls its pins again */
#define QUIET_NS 50000
#define QUIET_CLOCKS 100 /* it may have to wait for a core */
#define LIMIT_NS (20 * SECOND) /* of one barrier: a dead rank must not hold the others forever */

enum { BARE, DEVICE, SERIES };

static struct shared {
    struct hlb_flags meeting, flags; /* the meeting between blocks, and the device under test */
    struct hlb_word bare[2];
    double ns[SERIES][HLB_MAX_RANKS];
    int count[SERIES], more;
    uint32_t port[HLB_MAX_RANKS], group; /* of the device: error + 1 beyond its ports */
} *shared;
static struct hlb meeting, device;
static struct hlb_session session;
static int rtl, own = 1; /* own: no daemon but ours is asked */
static uint32_t bare_epoch;
static int rank, ranks, nodes; /* processes, and those of them that meet at the device */

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
    if (series == DEVICE ? rank < nodes : rank < 2) {
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
    for (int k = 0; k < (series == BARE ? 2 : nodes); k++)
        if (shared->ns[series][k] > worst) worst = shared->ns[series][k];
    return worst;
}

static uint64_t clocks(void) { return rtl ? __atomic_load_n(&session.pins->clocks, __ATOMIC_RELAXED) : 0; }

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void nothing(void) {}
static void write_pin(void) { device.write(&device); } /* the level that it has: no arrival */
static void read_line(void) { (void)clocks(); }

/* The median time of an operation, each on a line that the device has touched since. */
static double operation_ns(void (*operation)(void)) {
    double ns[OPERATIONS];
    for (int k = 0; k < OPERATIONS; k++) {
        for (uint64_t before = clocks(), begin = hlb_now_ns(); clocks() < before + 4 && hlb_now_ns() - begin < SECOND;) HLB_PAUSE();
        uint64_t at = hlb_now_ns();
        while (hlb_now_ns() - at < REST_NS) HLB_PAUSE();
        at = hlb_now_ns();
        operation();
        ns[k] = (double)(hlb_now_ns() - at);
    }
    qsort(ns, OPERATIONS, sizeof *ns, ascending); /* on a busy machine a core is lost in between: the median has it not */
    return ns[OPERATIONS / 2];
}

/* The device's ns per clock while all rest. */
static double clock_ns(void) {
    uint64_t at = hlb_now_ns();
    while (hlb_now_ns() - at < REST_NS) HLB_PAUSE();
    uint64_t before = clocks();
    at = hlb_now_ns();
    while ((hlb_now_ns() - at < QUIET_NS || clocks() - before < QUIET_CLOCKS) && hlb_now_ns() - at < SECOND) HLB_PAUSE();
    uint64_t ticks = clocks() - before, took = hlb_now_ns() - at;
    return ticks ? (double)took / (double)ticks : 0.0;
}

/* Makes this rank a node of the device, and all a group. */
static int attach_rtl(void) {
    char node[64];
    int error = hlb_device_attach(&session);
    if (rank >= nodes) { /* for the bare limit; it sees the clocks, and joins nothing */
        barrier(&meeting);
        barrier(&meeting);
        return error;
    }
    snprintf(node, sizeof node, "bench %d rank %d", (int)getppid(), rank);
    if (!error && !session.pins) error = ENODEV;
    if (!error) error = hlb_device_claim(&session, node, HLB_ANY_PORT);
    shared->port[rank] = error ? HLB_PORTS + (uint32_t)error : session.port;
    barrier(&meeting);
    uint32_t members = 0;
    for (int k = 0; k < nodes; k++) {
        if (shared->port[k] >= HLB_PORTS) return (int)(shared->port[k] - HLB_PORTS);
        members |= 1u << shared->port[k];
    }
    if (rank == 0 && (error = hlb_device_group(&session, members, &shared->group)) != 0) shared->group = HLB_GROUPS + (uint32_t)error;
    barrier(&meeting);
    if (shared->group >= HLB_GROUPS) return (int)(shared->group - HLB_GROUPS);
    return hlb_device_join(&session, shared->group, &device, LIMIT_NS);
}

static int attach(void) {
    int error = hlb_flags_attach(&meeting, &shared->meeting, ranks, rank);
    meeting.oversubscribed = 1; /* ranks that wait for the next block leave their core to those that are measured */
    if (error) return error;
    return rtl ? attach_rtl() : hlb_flags_attach(&device, &shared->flags, ranks, rank);
}

/* Each rank on a core of its own, as launchers bind them: two that the scheduler puts on one core would measure it. */
static void pin(void) {
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
    pin();
    int error = attach();
    if (error) return fprintf(stderr, "bench_device: rank %d: %s\n", rank, hlb_error(error)), 1;
    calibrate(BARE);
    calibrate(DEVICE);
    if (rank == 0) printf("count %d %d %s\n", shared->count[BARE], shared->count[DEVICE], own ? "own" : "daemon");
    uint64_t begin = hlb_now_ns();
    do {
        block(BARE, shared->count[BARE]);
        uint64_t before = clocks();
        block(DEVICE, shared->count[DEVICE]);
        uint64_t ticks = clocks() - before;
        if (rank == 0) {
            double timer = rtl ? operation_ns(nothing) : 0;
            printf("%.2f %.2f %.2f %.2f %.2f %.2f\n", slowest(BARE), slowest(DEVICE), (double)ticks / shared->count[DEVICE],
                   rtl ? clock_ns() : 0.0, rtl ? operation_ns(write_pin) - timer : 0.0,
                   rtl ? operation_ns(read_line) - timer : 0.0);
            shared->more = (double)(hlb_now_ns() - begin) < seconds * 1e9;
        }
        barrier(&meeting);
    } while (shared->more);
    return 0;
}

/* A daemon of our own, once it listens. */
static pid_t serve(const char *program, const char *count, const char *seconds) {
    char path[64];
    snprintf(path, sizeof path, "/tmp/hotlink-bench-%d", (int)getpid());
    setenv("HOTLINK_BARRIER_DEVICE", path, 1);
    fflush(stdout);
    pid_t server = fork();
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        char limit[32];
        snprintf(limit, sizeof limit, "%d", atoi(seconds) + 60);
        execl(program, program, "--quiet", "1", "--nodes", count, "--socket", path, "--seconds", limit, NULL);
        perror(program);
        _exit(1);
    }
    for (int k = 0; k < 4000 && access(path, F_OK) != 0; k++, usleep(5000))
        if (waitpid(server, NULL, WNOHANG) == server) break;
    return server;
}

int main(int argc, char **argv) {
    int failed = 0, status;
    rtl = argc == 5 && strcmp(argv[1], "rtl") == 0;
    if (!rtl && !(argc == 4 && strcmp(argv[1], "flags") == 0))
        return fprintf(stderr, "usage: bench_device flags RANKS SECONDS | rtl RANKS SECONDS SERVER\n"), 2;
    nodes = atoi(argv[2]);
    ranks = nodes < 2 ? 2 : nodes;
    if (nodes < (rtl ? 1 : 2) || nodes > (rtl ? HLB_PORTS : HLB_MAX_RANKS)) return fprintf(stderr, "bench_device: ranks: %s\n", argv[2]), 2;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return perror("bench_device: mmap"), 1;
    if (rtl && hlb_device_attach(&session) == 0) {
        own = !session.pins || (int)session.facts.ports < nodes;
        hlb_device_detach(&session);
    }
    pid_t server = rtl && own ? serve(argv[4], argv[2], argv[3]) : 0, child[HLB_MAX_RANKS];
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
