/* This machine's limits for the quantities of bench.c. Two processes on a core each share memory and do nothing but
 * the quantity's own steps, with no library between. One line each, as bench.c prints them: the best median of the
 * methods tried. A limit is the best that the machine can do, by whatever method.
 *
 *     8 bytes           a flag handed over, over one line each way (or a line further each time)
 *     ordinary memory   copied into a shared ring by one core and out of it by the other at the same time, in parts;
 *                       or by the system's copy between processes, a half by each core at the same time
 *     segments          each core copies its part, straight
 *     words put         stored at the stride by one core into its own memory
 *     windows           lines written one by one, read by the other core, one flag back at the end
 *
 * Usage: limits SECONDS PART: the most for each method, and which part, as of bench.c. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined __x86_64__
#include <emmintrin.h>
#endif

enum { SAMPLES = 101, WARMUP = 3, WINDOW = 64, LINES = 256, LINE = 64 };
enum { ROOM = 16 << 20, RING = 1 << 20 };

struct shared {
    struct { _Alignas(128) uint64_t value; } flag[9];
    _Alignas(4096) uint64_t line[2][LINES][LINE / 8];
    char ring[2][RING], source[2][ROOM], target[2][ROOM];
};
static struct shared *all;
static char *source, *target, *fresh; /* This side's ordinary memory, at the same addresses on both. */
static int side;
static pid_t other;
static double budget_s = 0.3;

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static void set(uint64_t *flag, uint64_t value) { __atomic_store_n(flag, value, __ATOMIC_RELEASE); }

/* The other side died if the system gave it to init, or reports it: then this one would wait forever. */
static void await(uint64_t *flag, uint64_t value) {
    for (unsigned spins = 1; __atomic_load_n(flag, __ATOMIC_ACQUIRE) < value; spins++) {
#if defined __x86_64__
        _mm_pause();
#endif
        if (spins % 65536 == 0) {
            if (side == 1 ? getppid() != other : waitpid(other, NULL, WNOHANG) != 0)
                _exit(1);
            sched_yield();
        }
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median time of `once` in microseconds at side 0, which decides how often. */
static double samples(void (*once)(void), int inner) {
    static uint64_t turn;
    double us[SAMPLES], begin = now_us();
    int n = 0;
    for (int s = -WARMUP; s < SAMPLES; s++) {
        turn += 2;
        if (side == 0)
            set(&all->flag[0].value, turn + !(n < 5 || now_us() - begin < budget_s * 1e6));
        await(&all->flag[0].value, turn);
        if (__atomic_load_n(&all->flag[0].value, __ATOMIC_ACQUIRE) != turn)
            break;
        set(&all->flag[1 + side].value, turn);
        await(&all->flag[2 - side].value, turn);
        double start = now_us();
        for (int i = 0; i < inner; i++)
            once();
        double time = (now_us() - start) / inner;
        if (s >= 0)
            us[n++] = time;
    }
    turn += 2;
    qsort(us, n, sizeof *us, ascending);
    return us[n / 2];
}

static double least(double a, double b) { return a < b ? a : b; }

static void report(const char *what, long size, long stride, double us) {
    if (side == 0) {
        printf("%s %ld %ld %.5f\n", what, size, stride, us);
        fflush(stdout);
    }
}

/* Counts of transfers each way, counted alike on both sides: they only grow. */
static uint64_t count[2];
static long size, part, share;
static int way, rewritten, spread;

static uint64_t *line_of(int from, uint64_t number) { return all->line[from][spread ? number % LINES : 0]; }

static void hand_over(void) {
    for (int from = 0; from < 2; from++) {
        uint64_t number = ++count[from], *line = line_of(from, number);
        side == from ? set(line, number) : await(line, number);
    }
}

/* As a barrier of two: both at the same time. */
static void meet(void) {
    uint64_t number = ++count[0];
    count[1] = number;
    set(line_of(side, number), number);
    await(line_of(1 - side, number), number);
}

static void window(void) {
    for (int i = 0; i < WINDOW; i++) {
        uint64_t number = ++count[0], *line = line_of(0, number);
        if (side == 0) {
            line[1] = number;
            set(line, number);
        } else {
            await(line, number);
        }
    }
    uint64_t number = ++count[1];
    side == 1 ? set(line_of(1, number), number) : await(line_of(1, number), number);
}

/* Flags 3 and 4: how much of a message there is, and how much of the room before it is free. */
static uint64_t filled[2];

static void through_ring(int from) {
    uint64_t *there = &all->flag[3 + 2 * from].value, *taken = &all->flag[4 + 2 * from].value;
    for (long at = 0; at < size; at += part) {
        uint64_t end = filled[from] + part;
        char *room = all->ring[from] + filled[from] % RING;
        if (side == from) {
            if (end > RING)
                await(taken, end - RING);
            memcpy(room, source + at, part);
            set(there, end);
        } else {
            await(there, end);
            memcpy(target + at, room, part);
            set(taken, end);
        }
        filled[from] = end;
    }
}

static void by_system(char *here, char *there, long bytes, int write) {
    struct iovec mine = { here, bytes }, theirs = { there, bytes };
    ssize_t moved = write ? process_vm_writev(other, &mine, 1, &theirs, 1, 0)
                          : process_vm_readv(other, &mine, 1, &theirs, 1, 0);
    if (moved != bytes)
        _exit(2);
}

static void stored_past(char *to, const char *from, long bytes) {
#if defined __x86_64__
    for (long at = 0; at < bytes; at += 16)
        _mm_stream_si128((__m128i *)(to + at), _mm_loadu_si128((const __m128i *)(from + at)));
    _mm_sfence();
#else
    memcpy(to, from, bytes);
#endif
}

/* By the processor's own string copy, which asks for many lines at a time. */
static void string_copy(char *to, const char *from, long bytes) {
#if defined __x86_64__
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
#else
    memcpy(to, from, bytes);
#endif
}

static void plain_copy(char *to, const char *from, long bytes) { memcpy(to, from, bytes); }

enum { BY_SYSTEM, STRAIGHT, STRING, PAST };
static void (*const COPIES[])(char *, const char *, long) = { NULL, plain_copy, string_copy, stored_past };

static void copy_share(int from, int receiver) {
    long first = receiver ? 0 : share, bytes = receiver ? share : size - share;
    char *out = all->source[from] + first, *in = all->target[1 - from] + first;
    if (way == BY_SYSTEM)
        by_system((receiver ? target : source) + first, (receiver ? source : target) + first, bytes, !receiver);
    else
        COPIES[way](in, out, bytes);
}

/* A flag says that the message is there, then each side copies its share and says that it has. */
static void by_halves(int from) {
    uint64_t number = ++count[from];
    if (side == from) {
        set(line_of(from, number), number);
        if (share < size)
            copy_share(from, 0);
        set(&all->flag[3 + 2 * from].value, number);
        await(&all->flag[4 + 2 * from].value, number);
    } else {
        await(line_of(from, number), number);
        copy_share(from, 1);
        set(&all->flag[4 + 2 * from].value, number);
        await(&all->flag[3 + 2 * from].value, number);
    }
}

static void there_and_back(void (*move)(int), char *sent) {
    for (int from = 0; from < 2; from++) {
        if (side == from && rewritten)
            memcpy(sent, fresh, size);
        move(from);
    }
}
static void ring_both_ways(void) { there_and_back(through_ring, source); }
static void halves_both_ways(void) { there_and_back(by_halves, way == BY_SYSTEM ? source : all->source[side]); }

/* Every flag and count from the beginning: ways count differently. */
static double fresh_start(void (*once)(void), int inner) {
    static uint64_t begun;
    set(&all->flag[7 + side].value, ++begun);
    await(&all->flag[8 - side].value, begun);
    memset(count, 0, sizeof count);
    memset(filled, 0, sizeof filled);
    if (side == 0)
        for (int flag = 3; flag < 7; flag++)
            set(&all->flag[flag].value, 0);
    memset(all->line[side], 0, sizeof all->line[side]);
    set(&all->flag[7 + side].value, ++begun);
    await(&all->flag[8 - side].value, begun);
    return samples(once, inner);
}

static void shorts(void) {
    const char *names[] = { "pingpong", "pingpong-rewritten", "pingpong-segment", "pingpong-segment-rewritten" };
    double hand = 1e18, barrier = 1e18;
    for (spread = 0; spread < 2; spread++) {
        hand = least(hand, fresh_start(hand_over, 500) / 2);
        barrier = least(barrier, fresh_start(meet, 100));
    }
    spread = 1;
    for (int i = 0; i < 4; i++)
        report(names[i], 8, 1, hand);
    report("barrier", 0, 1, barrier);
    report("rate", 8, 1, fresh_start(window, 10) / WINDOW);
}

static void messages(long bytes) {
    const long parts[] = { 8 << 10, 16 << 10, 32 << 10 };
    size = bytes;
    int inner = size < 1 << 20 ? 20 : 1;
    for (rewritten = 0; rewritten < 2; rewritten++) {
        double ordinary = 1e18, segment = 1e18;
        for (int p = 0; p < 3; p++) {
            part = parts[p];
            ordinary = least(ordinary, fresh_start(ring_both_ways, inner));
        }
        for (way = BY_SYSTEM; way <= PAST; way++)
            for (int eighths = 4; eighths <= 8; eighths += eighths == 4 ? 1 : 3) {
                share = size / 8 * eighths;
                double us = fresh_start(halves_both_ways, inner);
                *(way == BY_SYSTEM ? &ordinary : &segment) = least(way == BY_SYSTEM ? ordinary : segment, us);
            }
        /* What ordinary memory can do, segments can too. */
        segment = least(segment, ordinary);
        report(rewritten ? "pingpong-rewritten" : "pingpong", size, 1, ordinary / 2);
        report(rewritten ? "pingpong-segment-rewritten" : "pingpong-segment", size, 1, segment / 2);
    }
}

/* Both parts of an alltoall of two: the other's and the rank's own. */
static void exchange(void) {
    meet();
    COPIES[way](all->target[side], all->source[1 - side], size);
    COPIES[way](all->target[side] + size, all->source[side] + size, size);
    meet();
}

static void exchanges(long bytes) {
    double both = 1e18;
    size = bytes;
    for (way = STRAIGHT; way <= PAST; way++)
        both = least(both, fresh_start(exchange, 1));
    report("alltoallv", size, 1, both);
}

/* Asks for a line that is to be written. */
static void own_line(volatile double *at) {
#if defined __x86_64__
    __asm__ volatile("prefetchw %0" : : "m"(*at));
#else
    __builtin_prefetch((double *)at, 1);
#endif
}

static double *row, *column;
static long words, stride;
static int asks;

/* Unrolled: a jump for each word would cost more than its store. */
static void store_words(void) {
    volatile double *to = column;
    if (side == 1)
        return;
    if (asks)
#pragma GCC unroll 8
        for (long i = 0; i < words; i++, to += stride) {
            own_line(to + 32 * stride);
            *to = row[i];
        }
    else
#pragma GCC unroll 8
        for (long i = 0; i < words; i++, to += stride)
            *to = row[i];
}

static void strides(void *block, const char *what) {
    const long gaps[] = { 2, 8, 64 };
    words = (1 << 20) / 8;
    column = block;
    for (int i = 0; i < 3; i++) {
        stride = gaps[i];
        double us = 1e18;
        for (asks = 0; asks < 2; asks++)
            us = least(us, fresh_start(store_words, 1));
        report(what, 1 << 20, stride, us);
        if (!strcmp(what, "put"))
            report("unpack", 1 << 20, stride, us);
    }
}

/* Ordinary memory of the two sides has the same addresses, so that each knows where to read and write the other's. */
static void *filled_block(long bytes) {
    void *block = aligned_alloc(4096, bytes);
    if (!block)
        exit(1);
    memset(block, 1, bytes);
    return block;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return fprintf(stderr, "usage: limits SECONDS PART\n"), 2;
    budget_s = atof(argv[1]);
    const char *part = argv[2];
    cpu_set_t allowed, mine;
    sched_getaffinity(0, sizeof allowed, &allowed);
    if (CPU_COUNT(&allowed) < 2)
        return fprintf(stderr, "limits: two cores are needed\n"), 1;
    int flags = MAP_SHARED | MAP_ANONYMOUS;
    const long spread_bytes = (1L << 20) * 64;
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, flags, -1, 0);
    char *segment = mmap(NULL, spread_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (all == MAP_FAILED || segment == MAP_FAILED)
        return perror("limits"), 1;
    source = filled_block(ROOM), target = filled_block(ROOM), fresh = filled_block(ROOM), row = filled_block(1 << 20);
    pid_t parent = getpid(), child = fork();
    side = child == 0, other = child ? child : parent;
    int core = -1;
    for (int left = side + 1; left; left -= CPU_ISSET(core, &allowed) != 0)
        core++;
    CPU_ZERO(&mine);
    CPU_SET(core, &mine);
    sched_setaffinity(0, sizeof mine, &mine);
    /* Pages of its own. */
    memset(source, 1, ROOM), memset(target, 1, ROOM);
    memset(all->source[side], 1, ROOM), memset(all->target[side], 1, ROOM);
    if (!strcmp(part, "short"))
        shorts();
    else if (!strcmp(part, "exchange"))
        exchanges(1 << 20);
    else if (!strcmp(part, "strides")) {
        strides(segment, "put-segment");
        void *ordinary = side == 0 ? filled_block(spread_bytes) : NULL;
        strides(ordinary, "put");
    } else
        messages(atol(part));
    if (side == 0)
        waitpid(child, NULL, 0);
    return 0;
}
