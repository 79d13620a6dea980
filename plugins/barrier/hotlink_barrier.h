/* A barrier device in one header: H06's protocol (slides 14, 15, 22) over exchangeable back ends. C11 or C++, Linux.
 *
 *     once:         read the status, write it back, hold it until the device has seen it   (hlb_device_join)
 *     per barrier:  toggle, write                                                          (hlb_enter)
 *                   read until toggled                                                     (hlb_released, hlb_wait)
 *
 * H06's start-up lacks the write-back: a pin that a dead job left at the other level would count as an arrival. On the
 * guarded device (rtl/barrier) it suffices. On a bare one the ranks must synchronise once more by other means after
 * attaching (proofs: rtl/barrier/formal/f_flat.v).
 *
 * This header has the protocol and the barrier of the ranks of one node, flags in shared memory (hlb_flags_attach).
 * Devices between nodes are in hotlink_device.h.
 *
 * One `struct hlb` belongs to one thread of one rank at a time. All calls return 0 or an errno value; none blocks
 * without the limit that the caller gives. */
#ifndef HOTLINK_BARRIER_H
#define HOTLINK_BARRIER_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#define HLB_PAUSE() __builtin_ia32_pause()
#else
#define HLB_PAUSE() ((void)0)
#endif

#define HLB_LINE 128     /* two cache lines: adjacent-line prefetch must not tie flags together */
#define HLB_MAX_RANKS 256
#define HLB_FANIN 4      /* children of a node of the flags' tree, and peers whose flags a rank reads itself */
#define HLB_SPINS 20000  /* reads before parking when every rank has a core, some 50 to 100 us */
#define HLB_YIELDS 100   /* yields before parking when ranks share cores */
#define HLB_PARK_NS 1000000  /* longest nap: also bounds the delay of a wake-up that hlb_store_fast misses */
#define HLB_QUICK 64     /* reads before the idle hook first runs: a barrier whose ranks are all there ends within them */
#define HLB_TURNS 2      /* the same where ranks share cores, with a yield between */
#define HLB_PATIENCE 64  /* calls of the idle hook between two yields where the core is free */
#define HLB_BRIEF_NS 200000 /* who gives a core back within this shares it; a program that computes takes a slice of ms */
#define HLB_READS 4      /* reads between two calls of the idle hook */

/* ---- what shared memory holds; zeroed memory is a valid start -------------------------------------------------- */

struct hlb_word { /* one writer, padded; waiters may park on it */
    uint32_t value;
    uint32_t parked; /* number of waiters asleep on value */
    char pad[HLB_LINE - 8];
} __attribute__((aligned(HLB_LINE)));

struct hlb_cpus { /* the processors that a rank may run on; of HLB_LINE bytes */
    uint32_t known, unused;
    uint64_t bits[HLB_LINE / 8 - 1];
} __attribute__((aligned(HLB_LINE)));

struct hlb_flags { /* the flags device: counters, not single bits, so that a rank lapping a slow reader is no hazard */
    struct hlb_word release;
    struct { struct hlb_word arrived; struct hlb_cpus cpus; } rank[HLB_MAX_RANKS];
};

/* ---- one rank's door ------------------------------------------------------------------------------------------- */

struct hlb {
    void (*write)(struct hlb *);             /* show b->epoch's level */
    int (*read)(struct hlb *);               /* 1 if the barrier entered last is released */
    struct hlb_word *(*awaited)(struct hlb *, uint32_t *seen); /* where to park, or NULL */
    void (*settle)(struct hlb *);            /* finds out whether ranks share cores, or NULL */
    int (*doze)(struct hlb *, uint64_t ns);  /* sleeps so long at most; 1 if the device has interrupted since. Or NULL */
    void (*shut)(struct hlb *);              /* gives wires back, or NULL */
    uint32_t epoch;                          /* barriers entered; its lowest bit is H06's level */
    int ranks, rank;
    int oversubscribed;                      /* ranks share cores, as far as is known */
    int settled;                             /* it is known for good: every rank has said where it may run */
    int crowded;                             /* a long wait lost its core lately, briefly: others wait on this core, too */
    int awake;                               /* all ranks wait with an idle hook: none parks */
    void *memory;
    struct hlb_word *up[HLB_FANIN];          /* flags: children, or all peers of few ranks */
    int children, reported;
    unsigned group, base, in_bit;            /* a device's group; a parallel port's address and bit */
    int out_file, in_file;                   /* lines of a GPIO chip; a card */
    uint32_t naps, interrupts;               /* times parked, and woken by a device, to explain a rank's time */
    uint64_t reads, idles;                   /* reads of long waits, and calls of their idle hooks */
};

static inline uint64_t hlb_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint32_t hlb_load(const uint32_t *word) { return __atomic_load_n(word, __ATOMIC_ACQUIRE); }

static inline int hlb_reached(const struct hlb_word *w, uint32_t epoch) {
    return (int32_t)(hlb_load(&w->value) - epoch) >= 0; /* right across wrap-around */
}

/* Stores a word and wakes those parked on it. The exchange orders the store before the read of `parked`. A waiter
 * counts itself parked before its last read of the value, so one of the two sees the other. */
static inline void hlb_store(struct hlb_word *w, uint32_t value) {
    __atomic_exchange_n(&w->value, value, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&w->parked, __ATOMIC_SEQ_CST) != 0)
        syscall(SYS_futex, &w->value, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The same where every rank has a core and speed counts: a plain store, which need not wait for the line to arrive. A
 * waiter that parks at this very moment may be missed; it wakes by itself after HLB_PARK_NS. */
static inline void hlb_store_fast(struct hlb_word *w, uint32_t value) {
    __atomic_store_n(&w->value, value, __ATOMIC_RELEASE);
    if (__atomic_load_n(&w->parked, __ATOMIC_RELAXED) != 0)
        syscall(SYS_futex, &w->value, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static inline void hlb_park(struct hlb_word *w, uint32_t seen, uint64_t ns) {
    struct timespec nap;
    nap.tv_sec = (time_t)(ns / 1000000000u);
    nap.tv_nsec = (long)(ns % 1000000000u);
    __atomic_fetch_add(&w->parked, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&w->value, __ATOMIC_SEQ_CST) == seen)
        syscall(SYS_futex, &w->value, FUTEX_WAIT, seen, &nap, NULL, 0); /* early, late or spurious: the caller rereads */
    __atomic_fetch_sub(&w->parked, 1, __ATOMIC_SEQ_CST);
}

/* ---- the protocol ---------------------------------------------------------------------------------------------- */

/* Arrives at the next barrier. The one before must have been released. The function is given apart for callers that
 * know it: the compiler then sees through the call. */
static inline void hlb_enter_by(struct hlb *b, void (*write)(struct hlb *)) {
    b->epoch++;
    write(b);
}
static inline void hlb_enter(struct hlb *b) { hlb_enter_by(b, b->write); }

/* Reads once: 1 if the barrier entered last is released. */
static inline int hlb_released(struct hlb *b) { return b->read(b); }

/* How often this thread has lost its core. */
static inline long hlb_switches(void) {
    struct rusage used;
    memset(&used, 0, sizeof used);
    syscall(SYS_getrusage, 1 /* RUSAGE_THREAD */, &used);
    return used.ru_nvcsw + used.ru_nivcsw;
}

/* Waits with an idle hook: an MPI's progress. Other ranks may need it before they can arrive, and one-sided
 * operations on this rank's memory may need it at any time. So it never sleeps: it calls the hook as often as the MPI's
 * own barrier would, and yields where ranks share cores. Other threads and programs may want this core too, whatever
 * affinity says. A waiter that loses it for a short time yields at each call until it no longer does. */
static inline int hlb_wait_busy(struct hlb *b, uint64_t limit_ns, void (*idle)(void *), void *context) {
    uint64_t begin = limit_ns ? hlb_now_ns() : 0;
    uint64_t then = begin;
    long lost = -1;
    for (unsigned round = 1;; round++) {
        idle(context);
        b->idles++;
        for (int k = 0; k < HLB_READS; k++) {
            b->reads++;
            if (b->read(b)) return 0;
            if (!b->oversubscribed && !b->crowded) {
                HLB_PAUSE();
                continue;
            }
            sched_yield(); /* to ranks that share this core and may release: read before the hook */
            b->reads++;
            if (b->read(b)) return 0;
            break;
        }
        if (round % HLB_PATIENCE == 0) {
            const long now = b->oversubscribed ? lost : hlb_switches();
            const uint64_t clock = hlb_now_ns();
            if (lost >= 0) b->crowded = now != lost && clock - then < (uint64_t)(now - lost) * HLB_BRIEF_NS;
            lost = now;
            then = clock;
            sched_yield();
            if (limit_ns && hlb_now_ns() - begin >= limit_ns) return ETIMEDOUT;
        }
    }
}

/* Waits without an idle hook: spins, yields where ranks share cores, then parks. */
static inline int hlb_wait_parked(struct hlb *b, uint64_t limit_ns) {
    uint64_t begin = 0;
    int spins = b->oversubscribed ? 0 : HLB_SPINS, yields = b->oversubscribed ? HLB_YIELDS : 0, k;
    for (;;) {
        for (k = 0; k < spins; k++) {
            if (b->read(b)) return 0;
            HLB_PAUSE();
        }
        for (k = 0; k < yields; k++) {
            if (b->read(b)) return 0;
            sched_yield();
        }
        if (begin == 0) begin = hlb_now_ns();
        uint64_t waited = hlb_now_ns() - begin, nap = HLB_PARK_NS;
        if (b->read(b)) return 0;
        if (limit_ns && waited >= limit_ns) return ETIMEDOUT;
        if (limit_ns && limit_ns - waited < nap) nap = limit_ns - waited;
        uint32_t seen = 0;
        struct hlb_word *word = b->awaited ? b->awaited(b, &seen) : NULL;
        if (word) hlb_park(word, seen, nap), b->naps++;
        else if (b->doze) b->interrupts += (uint32_t)b->doze(b, nap), b->naps++;
        spins = spins > 64 ? 64 : spins; /* slow already: look briefly between naps */
        yields = yields > 4 ? 4 : yields;
        if (!word && !b->doze) sched_yield(), spins = 64;
    }
}

/* 1 if the barrier entered last is released soon, as it is where all ranks are there. */
static inline int hlb_soon_by(struct hlb *b, int (*read)(struct hlb *)) {
    for (int left = b->oversubscribed ? HLB_TURNS : HLB_QUICK;;) {
        if (read(b)) return 1;
        if (--left == 0) return 0;
        if (b->oversubscribed) sched_yield();
        else HLB_PAUSE();
    }
}

/* Waits for the release of the barrier entered last. `idle` (may be NULL) is called again and again meanwhile.
 * ETIMEDOUT after limit_ns (0: no limit); the barrier stays entered and may be awaited again. */
static inline int hlb_wait(struct hlb *b, uint64_t limit_ns, void (*idle)(void *), void *context) {
    if (hlb_soon_by(b, b->read)) return 0;
    if (!b->settled && b->settle) b->settle(b);
    return idle ? hlb_wait_busy(b, limit_ns, idle, context) : hlb_wait_parked(b, limit_ns);
}

static inline int hlb_barrier(struct hlb *b, uint64_t limit_ns) {
    hlb_enter(b);
    return hlb_wait(b, limit_ns, NULL, NULL);
}

/* ---- who shares cores with whom -------------------------------------------------------------------------------- */

/* The processors this thread may run on (the first 960). */
static inline void hlb_own_cpus(struct hlb_cpus *cpus) {
    memset(cpus, 0, sizeof *cpus);
    syscall(SYS_sched_getaffinity, 0, sizeof cpus->bits, cpus->bits);
}

/* A first guess, from this rank alone. A launcher may have bound it to one processor: that says nothing of the others. */
static inline int hlb_guess_oversubscribed(int processes) {
    struct hlb_cpus own;
    int cpus = 0;
    hlb_own_cpus(&own);
    for (unsigned k = 0; k < sizeof own.bits / sizeof *own.bits; k++) cpus += __builtin_popcountll(own.bits[k]);
    return processes > (cpus > 1 ? cpus : (int)sysconf(_SC_NPROCESSORS_ONLN));
}

/* Finds `rank` a processor of its own; a rank that holds one that it may use moves to another if that is possible. */
static inline int hlb_seat(const struct hlb_flags *f, int rank, int16_t *holder, uint64_t *tried) {
    for (int cpu = 0; cpu < (int)(sizeof f->rank[0].cpus.bits * 8); cpu++) {
        uint64_t bit = (uint64_t)1 << cpu % 64;
        if (!(f->rank[rank].cpus.bits[cpu / 64] & bit) || tried[cpu / 64] & bit) continue;
        tried[cpu / 64] |= bit;
        if (holder[cpu] >= 0 && !hlb_seat(f, holder[cpu], holder, tried)) continue;
        holder[cpu] = (int16_t)rank;
        return 1;
    }
    return 0;
}

/* Whether each rank can have a processor of its own, once all have said where they may run: a matching of ranks and
 * processors. */
static inline void hlb_flags_settle(struct hlb *b) {
    const struct hlb_flags *f = (const struct hlb_flags *)b->memory;
    int16_t holder[sizeof f->rank[0].cpus.bits * 8];
    for (int k = 0; k < b->ranks; k++)
        if (!hlb_load(&f->rank[k].cpus.known)) return;
    memset(holder, -1, sizeof holder);
    b->settled = 1;
    b->oversubscribed = 0;
    for (int k = 0; k < b->ranks; k++) {
        uint64_t tried[sizeof f->rank[0].cpus.bits / 8] = {0};
        if (!hlb_seat(f, k, holder, tried)) b->oversubscribed = 1;
    }
}

static inline int hlb_begin(struct hlb *b, int ranks, int rank) {
    memset(b, 0, sizeof *b);
    if (ranks < 1 || ranks > HLB_MAX_RANKS || rank < 0 || rank >= ranks) return EINVAL;
    b->ranks = ranks;
    b->rank = rank;
    b->oversubscribed = hlb_guess_oversubscribed(ranks);
    return 0;
}

/* ---- flags in shared memory ------------------------------------------------------------------------------------ */
/* Few ranks exchange flags: each reads those of all others, one transfer of a line. So the last to arrive releases
 * all, and no rank waits for one that shares its core. More ranks form a tree over consecutive ranks (neighbours on
 * cores). A node reports to its parent when its children have, and the root releases all by one word. */

static inline int hlb_flags_exchange(int ranks) { return ranks <= HLB_FANIN + 1; }

/* Where this rank's flags rest: the last barrier that it has left. */
static inline uint32_t hlb_flags_rest(const struct hlb_flags *f, int ranks, int rank) {
    return hlb_load(hlb_flags_exchange(ranks) ? &f->rank[rank].arrived.value : &f->release.value);
}

static inline void hlb_flags_publish(struct hlb *b, struct hlb_word *word) {
    if (b->awake) __atomic_store_n(&word->value, b->epoch, __ATOMIC_RELEASE);
    else if (b->oversubscribed) hlb_store(word, b->epoch);
    else hlb_store_fast(word, b->epoch);
}

static inline void hlb_flags_progress(struct hlb *b) {
    struct hlb_flags *f = (struct hlb_flags *)b->memory;
    if (b->reported) return;
    for (int k = 0; k < b->children; k++)
        if (!hlb_reached(b->up[k], b->epoch)) return;
    b->reported = 1;
    hlb_flags_publish(b, b->rank == 0 ? &f->release : &f->rank[b->rank].arrived);
}

static inline int hlb_flags_read(struct hlb *b) {
    if (b->ranks == 2) return hlb_reached(b->up[0], b->epoch);
    if (hlb_flags_exchange(b->ranks)) {
        for (int k = 0; k < b->children; k++)
            if (!hlb_reached(b->up[k], b->epoch)) return 0;
        return 1;
    }
    hlb_flags_progress(b);
    return hlb_reached(&((struct hlb_flags *)b->memory)->release, b->epoch);
}

static inline void hlb_flags_write(struct hlb *b) {
    if (hlb_flags_exchange(b->ranks)) hlb_flags_publish(b, &((struct hlb_flags *)b->memory)->rank[b->rank].arrived);
    else {
        b->reported = 0;
        hlb_flags_progress(b);
    }
}

static inline struct hlb_word *hlb_flags_awaited(struct hlb *b, uint32_t *seen) {
    struct hlb_word *word = hlb_flags_exchange(b->ranks) ? NULL : &((struct hlb_flags *)b->memory)->release;
    if (!word || !b->reported)
        for (int k = 0; k < b->children; k++)
            if (!hlb_reached(b->up[k], b->epoch)) { word = b->up[k]; break; }
    if (!word) return NULL;
    *seen = hlb_load(&word->value);
    return (int32_t)(*seen - b->epoch) >= 0 ? NULL : word; /* arrived meanwhile: do not park */
}

/* Bytes of shared memory that the flags device needs. Zeroed memory is ready to use. */
static inline size_t hlb_flags_bytes(int ranks) {
    return sizeof(struct hlb_word) + sizeof ((struct hlb_flags *)0)->rank[0] * (size_t)ranks;
}

/* Joins the flags device in `memory`, aligned to HLB_LINE, shared by all ranks and zero before the first joins. */
static inline int hlb_flags_attach(struct hlb *b, void *memory, int ranks, int rank) {
    int error = hlb_begin(b, ranks, rank);
    if (error) return error;
    if ((uintptr_t)memory % HLB_LINE) return EINVAL;
    struct hlb_flags *f = (struct hlb_flags *)memory;
    b->memory = memory;
    b->write = hlb_flags_write;
    b->read = hlb_flags_read;
    b->awaited = hlb_flags_awaited;
    b->settle = hlb_flags_settle;
    hlb_own_cpus(&f->rank[rank].cpus);
    __atomic_store_n(&f->rank[rank].cpus.known, 1, __ATOMIC_RELEASE);
    if (hlb_flags_exchange(ranks))
        for (int k = 1; k < ranks; k++) b->up[b->children++] = &f->rank[(rank + k) % ranks].arrived;
    else
        for (int k = 0; k < HLB_FANIN && HLB_FANIN * rank + 1 + k < ranks; k++)
            b->up[b->children++] = &f->rank[HLB_FANIN * rank + 1 + k].arrived;
    return 0;
}

#endif
