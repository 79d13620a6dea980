/* Nodes that reach the device only by a GPIO chip's lines, and a daemon that reaches it only by SPI: `test_board
 * spi`. Nodes and a daemon on parallel ports: `test_board port`. Nodes and a daemon that reach it only by a card's
 * registers: `test_board uio`. Each node is a process; kernel.c is preloaded into all. Nodes 2 and 3 reach the daemon
 * by TEST_FAR.
 *
 * No node leaves a barrier before all have entered it. Other tests have two groups at once, waits that sleep until an
 * interrupt, a node that dies, and wrong words. */
#define _GNU_SOURCE
#include "../hotlink_device.h"
#include "wires.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

enum { NODES = 4, ROUNDS = 20 };
#define SECOND 1000000000ull
#define SLEPT 2 /* the round in which node 1 arrives when another sleeps until the interrupt */
#define CHECK(condition, ...) \
    do { if (!(condition)) { fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); fprintf(stderr, __VA_ARGS__); \
        fputc('\n', stderr); exit(1); } } while (0)
#define WORKS(call) do { int e_ = (call); CHECK(e_ == 0, "%s: %s", #call, hlb_error(e_)); } while (0)

/* first: node 0's port; groups: of the device; joined: at once by a node; interrupts: wake sleeping waiters. */
static const struct kind { const char *name, *wires, *what; uint32_t first, groups; int joined, interrupts; } kinds[] = {
    {"spi", "gpio:/dev/gpiochip0:10/20,11/21", "GPIO lines and SPI: order, two groups, interrupts, a dead node", 0, BOARD_GROUPS, 2, 1},
    {"port", "port:0x378", "parallel ports: order, two threads, a second group refused, a dead node", 0, BOARD_GROUPS, 1, 0},
    {"uio", "uio:/dev/uio0", "its mapped registers (UIO): order, two groups, interrupts, a dead node", CARD_FIRST, HLB_GROUPS, 2, 1},
};
static const struct kind *kind;
static struct { uint32_t group[2], made, entered[2][NODES], interrupts; } *shared;

static void wait_for(const uint32_t *word, uint32_t value) {
    while (hlb_load(word) < value) usleep(1000);
}

/* Those asleep in the kernel until the line of group 0, or the card, interrupts. */
static const uint32_t *sleepers(void) {
    const char *name = getenv("BOARD_SHM");
    if (name) return &board_map(name, 0)->in[0].parked;
    return &card_map(getenv("CARD_SHM"), 0)->irq.parked;
}

static void *enter_and_wait(void *door) { return (void *)(intptr_t)hlb_barrier(door, 60 * SECOND); }

/* One barrier by another thread than that which opened the door: ports are granted to threads. */
static void by_another_thread(struct hlb *b) {
    pthread_t thread;
    void *error;
    WORKS(pthread_create(&thread, NULL, enter_and_wait, b));
    WORKS(pthread_join(thread, &error));
    WORKS((int)(intptr_t)error);
}

/* A node's life. Group 1 has the even nodes only. */
static int run_node(int node, uint32_t rounds, int dies) {
    struct hlb_session s;
    struct hlb b[2];
    char name[16];
    snprintf(name, sizeof name, "node %d", node);
    WORKS(hlb_device_attach(&s));
    CHECK(!s.pins && strcmp(s.facts.name, kind->name) == 0 && s.facts.groups == kind->groups, "facts");
    WORKS(hlb_device_claim(&s, name, kind->first + (uint32_t)node));
    if (node == 0) {
        WORKS(hlb_device_group(&s, 0xfu << kind->first, &shared->group[0]));
        WORKS(hlb_device_group(&s, 0x5u << kind->first, &shared->group[1]));
        uint32_t more;
        for (uint32_t g = 2; g < kind->groups; g++) WORKS(hlb_device_group(&s, 0x3u << kind->first, &more));
        CHECK(hlb_device_group(&s, 0x3u << kind->first, &more) == EBUSY, "a device gave more groups than it has");
        __atomic_store_n(&shared->made, 1, __ATOMIC_RELEASE);
    }
    wait_for(&shared->made, 1);
    int groups = node % 2 ? 1 : kind->joined;
    if (node == 0 && kind->joined == 1)
        CHECK(hlb_device_join(&s, shared->group[1], &b[1], SECOND) == ENOTSUP, "%s took a second group", kind->wires);
    for (int g = 0; g < groups; g++) WORKS(hlb_device_join(&s, shared->group[g], &b[g], 120 * SECOND));
    if (!dies) by_another_thread(&b[0]);
    for (uint32_t round = 1; round <= rounds; round++) {
        int g = round % 4 == 3 ? 1 : 0;
        if (g >= groups) continue;
        __atomic_store_n(&shared->entered[g][node], round, __ATOMIC_RELEASE);
        if (dies && node == 3 && round == rounds) kill(getpid(), SIGKILL);
        if (kind->interrupts && node == 1 && round == SLEPT) wait_for(sleepers(), 1);
        hlb_enter(&b[g]);
        while (kind->interrupts && round == SLEPT && node != 1 && !hlb_released(&b[g])) b[g].interrupts += (uint32_t)b[g].doze(&b[g], SECOND);
        for (int error; (error = hlb_wait(&b[g], SECOND / 5, NULL, NULL)) != 0;) {
            CHECK(error == ETIMEDOUT, "node %d: %s", node, hlb_error(error));
            if (hlb_device_lost(&s, &b[g]) != 0) return dies ? 0 : 3;
        }
        for (int k = 0; k < NODES; k++)
            CHECK((g && k % 2) || hlb_load(&shared->entered[g][k]) >= round, "node %d left barrier %u of group %d before node %d entered it",
                  node, round, g, k);
    }
    for (int g = 0; g < groups; g++) {
        __atomic_fetch_add(&shared->interrupts, b[g].interrupts, __ATOMIC_RELAXED);
        WORKS(hlb_device_leave(&s, &b[g]));
    }
    return 0;
}

static void job(int dies) {
    pid_t child[NODES];
    int status;
    memset(shared, 0, sizeof *shared);
    for (int node = 0; node < NODES; node++)
        if ((child[node] = fork()) == 0) {
            char number[8], *self[] = {"test_board", (char *)(uintptr_t)kind->name, number, dies ? "1" : "0", NULL};
            snprintf(number, sizeof number, "%d", node);
            setenv("BOARD_NODE", number, 1);
            setenv("HOTLINK_BARRIER_WIRES", kind->wires, 1);
            if (node >= NODES / 2) setenv("HOTLINK_BARRIER_DEVICE", getenv("TEST_FAR"), 1);
            execv("/proc/self/exe", self);
            _exit(9);
        }
    for (int node = 0; node < NODES; node++) {
        waitpid(child[node], &status, 0);
        int killed = dies && node == 3;
        CHECK(killed ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0, "node %d: status %x", node, status);
    }
    CHECK(dies || !kind->interrupts || shared->interrupts > 0, "no wait was ended by an interrupt");
}

static void wrong_words_are_refused(void) {
    struct hlb b;
    const char *wrong[] = {"gpio:", "gpio:/dev/gpiochip0", "gpio:/dev/gpiochip0:", "gpio:/dev/gpiochip0:1", "gpio:/dev/gpiochip0:10/20;",
                           "serial:/dev/ttyS0", "port:", "port:parport0", "port:0x10000"};
    for (unsigned k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        WORKS(hlb_begin(&b, 2, 0));
        CHECK(hlb_wires_open(&b, wrong[k]) == ENOTSUP, "%s", wrong[k]);
    }
    WORKS(hlb_begin(&b, 2, 0));
    b.group = 1;
    CHECK(hlb_wires_open(&b, "gpio:/dev/gpiochip0:10/20") == ENOTSUP, "a pair for a second group");
    b.group = 0;
    CHECK(hlb_wires_open(&b, "gpio:/dev/gpiochip0:3/20") == EINVAL, "a line that the chip has not");
    CHECK(hlb_wires_open(&b, "gpio:/dev/gpiochip0:20/20") == EBUSY, "one line for both");
    CHECK(hlb_wires_open(&b, "gpio:/dev/gpiochip0:21/20") == EPERM, "an input as output");
    CHECK(hlb_wires_open(&b, "gpio:/dev/gpiochip7:10/20") == ENOENT, "no such chip");
    CHECK(hlb_wires_open(&b, "uio:/dev/uio7") == ENOENT, "no such card");
    setenv("BOARD_LOCKED", "1", 1);
    CHECK(hlb_wires_open(&b, "port:0x378") == EPERM, "a port that is forbidden");
    unsetenv("BOARD_LOCKED");
}

int main(int argc, char **argv) {
    int file = shm_open(getenv("TEST_SHM"), O_RDWR | O_CREAT, 0600);
    CHECK(file >= 0 && ftruncate(file, 4096) == 0, "TEST_SHM");
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    kind = kinds;
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (argc > 1 && strcmp(argv[1], kinds[k].name) == 0) kind = &kinds[k];
    if (argc == 4) return run_node(atoi(argv[2]), ROUNDS, atoi(argv[3]));
    if (kind == &kinds[0]) wrong_words_are_refused();
    job(0);
    job(1);
    job(0);
    printf("board by %s: passed\n", kind->what);
    return 0;
}
