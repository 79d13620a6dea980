/* Tests of hotlink_barrier.h, and of the parallel port's refusals: run by `make -C plugins test` plain, under ASan + UBSan and under TSan. */
#define _GNU_SOURCE
#include "hotlink_device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define SECOND 1000000000ull
#define CHECK(condition, ...) \
    do { if (!(condition)) { fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); fprintf(stderr, __VA_ARGS__); \
        fputc('\n', stderr); exit(1); } } while (0)

static void *shared(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED, "mmap");
    return memory;
}

/* ---- the promise of a barrier: no rank leaves the n-th before all have entered it ---- */

struct crew {
    int ranks, rounds, jitter;
    void *memory;
    uint32_t entered[HLB_MAX_RANKS];
    uint32_t start_epoch;
};
struct member { struct crew *crew; int rank; };

static void *run_member(void *argument) {
    struct member *m = argument;
    struct crew *c = m->crew;
    struct hlb b;
    unsigned seed = 12345u + (unsigned)m->rank;
    CHECK(hlb_flags_attach(&b, c->memory, c->ranks, m->rank) == 0, "attach");
    b.epoch = c->start_epoch;
    for (int round = 1; round <= c->rounds; round++) {
        if (c->jitter && rand_r(&seed) % 16 == 0) usleep((useconds_t)(rand_r(&seed) % c->jitter));
        __atomic_store_n(&c->entered[m->rank], (uint32_t)round, __ATOMIC_RELEASE);
        CHECK(hlb_barrier(&b, 20 * SECOND) == 0, "rank %d of %d: barrier %d timed out", m->rank, c->ranks, round);
        for (int k = 0; k < c->ranks; k++) {
            uint32_t seen = __atomic_load_n(&c->entered[k], __ATOMIC_ACQUIRE);
            CHECK(seen == (uint32_t)round || seen == (uint32_t)round + 1, "rank %d left barrier %d, rank %d is at %u",
                  m->rank, round, k, seen);
        }
    }
    return NULL;
}

static void run_crew(int ranks, int rounds, int jitter, uint32_t start_epoch) {
    struct crew *c = calloc(1, sizeof *c);
    struct member members[HLB_MAX_RANKS];
    pthread_t threads[HLB_MAX_RANKS];
    c->ranks = ranks, c->rounds = rounds, c->jitter = jitter, c->start_epoch = start_epoch;
    struct hlb_flags *f = c->memory = shared(hlb_flags_bytes(ranks));
    f->release.value = start_epoch;
    for (int k = 0; k < ranks; k++) f->rank[k].arrived.value = start_epoch;
    for (int k = 0; k < ranks; k++) {
        members[k] = (struct member){c, k};
        CHECK(pthread_create(&threads[k], NULL, run_member, &members[k]) == 0, "thread");
    }
    for (int k = 0; k < ranks; k++) pthread_join(threads[k], NULL);
    munmap(c->memory, hlb_flags_bytes(ranks));
    free(c);
}

static void flags_keep_the_promise(void) {
    int sizes[] = {1, 2, 3, 4, 5, 7, 16, 22};
    for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        run_crew(sizes[k], sizes[k] > 4 ? 60 : 400, 0, 0);
        run_crew(sizes[k], 60, 300, 0);
    }
    run_crew(2, 200, 0, 0xffffff9cu); /* counters wrap around on the way */
    run_crew(4, 200, 0, 0xffffff9cu);
}

static void flags_between_processes(void) {
    enum { RANKS = 4, ROUNDS = 300 };
    struct { struct hlb_flags flags; uint32_t entered[RANKS]; } *s = shared(sizeof *s);
    pid_t children[RANKS];
    for (int rank = 0; rank < RANKS; rank++)
        if ((children[rank] = fork()) == 0) {
            struct hlb b;
            if (hlb_flags_attach(&b, &s->flags, RANKS, rank)) _exit(2);
            for (uint32_t round = 1; round <= ROUNDS; round++) {
                __atomic_store_n(&s->entered[rank], round, __ATOMIC_RELEASE);
                if (hlb_barrier(&b, 20 * SECOND)) _exit(3);
                for (int k = 0; k < RANKS; k++)
                    if (__atomic_load_n(&s->entered[k], __ATOMIC_ACQUIRE) < round) _exit(4);
            }
            _exit(0);
        }
    for (int rank = 0; rank < RANKS; rank++) {
        int status;
        waitpid(children[rank], &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "rank %d: status %x", rank, status);
    }
}

/* A fast rank enters the next barrier while a slow one has not yet read the release of the last. */
static void lapping_is_no_deadlock(void) {
    for (int ranks = 2; ranks <= 6; ranks++) {
        struct hlb b[6];
        void *memory = shared(hlb_flags_bytes(ranks));
        for (int k = 0; k < ranks; k++) CHECK(hlb_flags_attach(&b[k], memory, ranks, k) == 0, "attach");
        for (int round = 0; round < 100; round++) {
            for (int k = ranks - 1; k >= 0; k--) hlb_enter(&b[k]);
            for (int turn = 0; turn < 4; turn++)
                for (int k = 1; k < ranks; k++) hlb_released(&b[k]); /* inner nodes report when looked at */
            CHECK(hlb_released(&b[0]), "%d ranks, round %d: rank 0 is stuck", ranks, round);
            hlb_enter(&b[0]); /* rank 0 laps the others, which only now read */
            for (int k = 1; k < ranks; k++) CHECK(hlb_released(&b[k]), "%d ranks: rank %d missed the release", ranks, k);
            CHECK(!hlb_released(&b[0]), "%d ranks: rank 0 was released alone", ranks);
            for (int k = ranks - 1; k >= 1; k--) hlb_enter(&b[k]);
            for (int turn = 0; turn < 4; turn++)
                for (int k = ranks - 1; k >= 0; k--) hlb_released(&b[k]);
            for (int k = 0; k < ranks; k++) CHECK(hlb_released(&b[k]), "%d ranks, round %d: rank %d stuck", ranks, round, k);
        }
        munmap(memory, hlb_flags_bytes(ranks));
    }
}

/* Few ranks need no one of them to take part: the last to arrive releases all, whichever it is. */
static void the_last_of_few_releases_all(void) {
    for (int ranks = 2; ranks <= HLB_FANIN + 1; ranks++) {
        struct hlb b[HLB_FANIN + 1];
        void *memory = shared(hlb_flags_bytes(ranks));
        for (int k = 0; k < ranks; k++) CHECK(hlb_flags_attach(&b[k], memory, ranks, k) == 0, "attach");
        for (int last = 0; last < ranks; last++) {
            for (int k = 0; k < ranks; k++)
                if (k != last) hlb_enter(&b[k]);
            for (int k = 0; k < ranks; k++)
                CHECK(k == last || !hlb_released(&b[k]), "%d ranks: rank %d was released before rank %d arrived", ranks, k, last);
            hlb_enter(&b[last]);
            for (int k = ranks - 1; k >= 0; k--) CHECK(hlb_released(&b[k]), "%d ranks: rank %d waits for more than arrivals", ranks, k);
        }
        munmap(memory, hlb_flags_bytes(ranks));
    }
}

/* A thread on the waiter's only processor, though affinity promised the waiter one of its own. */
static void *want_the_core(void *end) {
    while (!__atomic_load_n((int *)end, __ATOMIC_ACQUIRE)) sched_yield();
    return NULL;
}
struct crowd { struct hlb *waiter, *last; uint64_t reads; int calls; };
static void arrive_once_crowded(void *context) {
    struct crowd *c = context;
    if (!c->waiter->crowded) return;
    if (c->calls++ == 0) c->reads = c->waiter->reads;
    if (c->calls == HLB_PATIENCE / 2) hlb_enter(c->last);
}
static void a_waiter_yields_to_others_that_want_its_core(void) {
    struct hlb waiter, last;
    struct crowd c = {&waiter, &last, 0, 0};
    cpu_set_t before, one;
    pthread_t thread;
    int end = 0;
    size_t cpu = 0;
    void *memory = shared(hlb_flags_bytes(2));
    CHECK(sched_getaffinity(0, sizeof before, &before) == 0, "affinity");
    while (!CPU_ISSET(cpu, &before)) cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0, "affinity");
    CHECK(pthread_create(&thread, NULL, want_the_core, &end) == 0, "thread");
    CHECK(hlb_flags_attach(&waiter, memory, 2, 0) == 0 && hlb_flags_attach(&last, memory, 2, 1) == 0, "attach");
    waiter.settled = 1, waiter.oversubscribed = 0;
    hlb_enter(&waiter);
    CHECK(hlb_wait(&waiter, 20 * SECOND, arrive_once_crowded, &c) == 0, "it never saw that it loses its core");
    CHECK(waiter.reads - c.reads <= 2u * HLB_PATIENCE / 2 + HLB_READS, "%llu reads in %d calls of the hook: it did not yield at each",
          (unsigned long long)(waiter.reads - c.reads), c.calls);
    __atomic_store_n(&end, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    CHECK(sched_setaffinity(0, sizeof before, &before) == 0, "affinity");
    munmap(memory, hlb_flags_bytes(2));
}

static void count_idle(void *context) { ++*(int *)context; }

static void a_missing_rank_times_out_and_may_come_late(void) {
    for (int ranks = 2; ranks <= 3; ranks++) {
        struct hlb early, late, third;
        int idles = 0;
        void *memory = shared(hlb_flags_bytes(ranks));
        CHECK(hlb_flags_attach(&early, memory, ranks, 0) == 0 && hlb_flags_attach(&late, memory, ranks, 1) == 0, "attach");
        hlb_enter(&early);
        if (ranks == 3) {
            CHECK(hlb_flags_attach(&third, memory, 3, 2) == 0, "attach");
            hlb_enter(&third);
        }
        uint64_t begin = hlb_now_ns();
        CHECK(hlb_wait(&early, SECOND / 20, count_idle, &idles) == ETIMEDOUT, "no timeout");
        /* Others' one-sided operations wait for the hook: it runs between every few reads, and nothing sleeps. */
        CHECK(hlb_now_ns() - begin >= SECOND / 20 && idles > 0 && early.naps == 0, "%d idles, %u naps", idles, early.naps);
        CHECK(early.reads <= HLB_READS * early.idles && early.idles == (uint64_t)idles, "%llu reads for %d idles",
              (unsigned long long)early.reads, idles);
        CHECK(hlb_wait(&early, SECOND / 20, NULL, NULL) == ETIMEDOUT && early.naps > 0, "no nap without a hook");
        hlb_enter(&late);
        CHECK(hlb_wait(&early, SECOND, NULL, NULL) == 0 && hlb_wait(&late, SECOND, NULL, NULL) == 0, "late release");
        munmap(memory, hlb_flags_bytes(ranks));
    }
}

/* Ranks that may run on these processors: must two of them share one? */
static int must_share(int ranks, const uint64_t *cpus) {
    struct hlb_flags *f = shared(hlb_flags_bytes(HLB_MAX_RANKS));
    struct hlb b;
    CHECK(hlb_flags_attach(&b, f, ranks, 0) == 0, "attach");
    hlb_flags_settle(&b);
    CHECK(ranks == 1 || !b.settled, "settled before all had said where they may run");
    for (int k = 0; k < ranks; k++) {
        memset(f->rank[k].cpus.bits, 0, sizeof f->rank[k].cpus.bits);
        f->rank[k].cpus.bits[k % 2] = cpus[k]; /* odd ranks: processors from 64 on */
        f->rank[k].cpus.known = 1;
    }
    hlb_flags_settle(&b);
    CHECK(b.settled, "not settled");
    munmap(f, hlb_flags_bytes(HLB_MAX_RANKS));
    return b.oversubscribed;
}

static void affinity_decides_who_shares_cores(void) {
    CHECK(!must_share(1, (uint64_t[]){1}), "one rank, one processor");
    CHECK(!must_share(2, (uint64_t[]){1, 1}), "two ranks bound apart");
    CHECK(must_share(3, (uint64_t[]){1, 2, 1}), "two ranks bound to one processor");
    CHECK(!must_share(3, (uint64_t[]){3, 2, 1}), "one of the two has another");
    CHECK(!must_share(5, (uint64_t[]){7, 1, 3, 2, 1}), "the first must move twice");
    CHECK(must_share(5, (uint64_t[]){3, 1, 3, 2, 1}), "three ranks on two processors");
    CHECK(must_share(1, (uint64_t[]){0}), "no processor known");
}

static void bad_arguments_are_refused(void) {
    struct hlb b;
    char *memory = shared(4096);
    CHECK(hlb_flags_attach(&b, memory, 0, 0) == EINVAL, "no ranks");
    CHECK(hlb_flags_attach(&b, memory, 4, 4) == EINVAL, "rank beyond the last");
    CHECK(hlb_flags_attach(&b, memory, HLB_MAX_RANKS + 1, 0) == EINVAL, "too many ranks");
    CHECK(hlb_flags_attach(&b, memory + 8, 2, 0) == EINVAL, "not aligned");
    CHECK(strstr(hlb_error(EINVAL), "256") && strstr(hlb_error(EPERM), "CAP_SYS_RAWIO"), "messages");
#if defined(__x86_64__) || defined(__i386__)
    CHECK(hlb_port_attach(&b, 0x378, 7, 4, 0, 0) == EINVAL, "inverted status bit");
    pid_t child = fork(); /* without the privilege the port is refused with an error, not a signal */
    if (child == 0) {
        if (setuid(65534) != 0) _exit(geteuid() == 0 ? 3 : 0);
        int error = hlb_port_attach(&b, 0x378, 6, 4, 0, 1000);
        if (error) printf("port 0x378, unprivileged: %s\n", hlb_error(error)), fflush(stdout);
        _exit(error == EPERM || error == EACCES || error == ENOSYS ? 0 : 2);
    }
    int status;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "port refusal: status %x", status);
#endif
    munmap(memory, 4096);
}

int main(void) {
    bad_arguments_are_refused();
    lapping_is_no_deadlock();
    affinity_decides_who_shares_cores();
    the_last_of_few_releases_all();
    a_waiter_yields_to_others_that_want_its_core();
    a_missing_rank_times_out_and_may_come_late();
    flags_keep_the_promise();
    flags_between_processes();
    puts("hotlink_barrier.h: all tests passed");
    return 0;
}
