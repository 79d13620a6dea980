/* Nodes whose only way to the device is a GPIO chip's lines, and a daemon whose only way is SPI: `test_board spi`. Nodes and a
 * daemon whose only way is a card's registers: `test_board uio`. Each node is a process; kernel.c is preloaded into all.
 * Nobody leaves a barrier before all have entered it; two groups at once; waits that sleep until an interrupt; a node that
 * dies; words that are wrong. */
#define _GNU_SOURCE
#include "../hotlink_device.h"
#include "wires.h"

#include <signal.h>
#include <sys/wait.h>

enum { NODES = 4, ROUNDS = 20 };
#define SECOND 1000000000ull
#define SLEPT 2 /* the round in which node 1 arrives when another sleeps until the interrupt */
#define CHECK(condition, ...) \
    do { if (!(condition)) { fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); fprintf(stderr, __VA_ARGS__); \
        fputc('\n', stderr); exit(1); } } while (0)
#define WORKS(call) do { int e_ = (call); CHECK(e_ == 0, "%s: %s", #call, hlb_error(e_)); } while (0)

static const struct kind { const char *name, *wires; uint32_t first, groups; } kinds[2] = {
    {"spi", "gpio:/dev/gpiochip0:10/20,11/21", 0, BOARD_GROUPS},
    {"uio", "uio:/dev/uio0", CARD_FIRST, HLB_GROUPS},
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
    int groups = node % 2 ? 1 : 2;
    for (int g = 0; g < groups; g++) WORKS(hlb_device_join(&s, shared->group[g], &b[g], 120 * SECOND));
    for (uint32_t round = 1; round <= rounds; round++) {
        int g = round % 4 == 3 ? 1 : 0;
        if (g >= groups) continue;
        __atomic_store_n(&shared->entered[g][node], round, __ATOMIC_RELEASE);
        if (dies && node == 3 && round == rounds) kill(getpid(), SIGKILL);
        if (node == 1 && round == SLEPT) wait_for(sleepers(), 1);
        hlb_enter(&b[g]);
        while (round == SLEPT && node != 1 && !hlb_released(&b[g])) b[g].interrupts += (uint32_t)b[g].doze(&b[g], SECOND);
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
            execv("/proc/self/exe", self);
            _exit(9);
        }
    for (int node = 0; node < NODES; node++) {
        waitpid(child[node], &status, 0);
        int killed = dies && node == 3;
        CHECK(killed ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0, "node %d: status %x", node, status);
    }
    CHECK(dies || shared->interrupts > 0, "no wait was ended by an interrupt");
}

static void wrong_words_are_refused(void) {
    struct hlb b;
    const char *wrong[] = {"gpio:", "gpio:/dev/gpiochip0", "gpio:/dev/gpiochip0:", "gpio:/dev/gpiochip0:1", "gpio:/dev/gpiochip0:10/20;",
                           "serial:/dev/ttyS0"};
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
}

int main(int argc, char **argv) {
    int file = shm_open(getenv("TEST_SHM"), O_RDWR | O_CREAT, 0600);
    CHECK(file >= 0 && ftruncate(file, 4096) == 0, "TEST_SHM");
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    kind = &kinds[argc > 1 && strcmp(argv[1], "uio") == 0];
    if (argc == 4) return run_node(atoi(argv[2]), ROUNDS, atoi(argv[3]));
    if (kind == &kinds[0]) wrong_words_are_refused();
    job(0);
    job(1);
    job(0);
    printf("board by %s: order, two groups, interrupts, a dead node: passed\n", kind == kinds ? "GPIO lines and SPI" : "its mapped registers (UIO)");
    return 0;
}
