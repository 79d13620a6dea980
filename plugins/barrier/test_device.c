/* The contract of hotlink_device.h on a device that is a process: `test_device SERVER RANKS ROUNDS`.
 *
 * First real ranks, a process each, one with a stale pin and late: none leaves before all have entered. Then groups
 * that come and go, members that die, an output that is held, and a daemon that dies. There one process plays several
 * nodes, each by a connection of its own. */
#define _GNU_SOURCE
#include "hotlink_device.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define SECOND 1000000000ull
#define LATE_US 200000
#define CHECK(condition, ...) \
    do { if (!(condition)) { fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); fprintf(stderr, __VA_ARGS__); \
        fputc('\n', stderr); exit(1); } } while (0)
#define WORKS(call) do { int e_ = (call); CHECK(e_ == 0, "%s: %s", #call, hlb_error(e_)); } while (0)

static char path[64];

static pid_t serve(const char *program, const char *nodes, const char *standing, const char *stale) {
    unlink(path);
    pid_t server = fork();
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        execl(program, program, "--quiet", "1", "--nodes", nodes, "--standing", standing, "--stale", stale, "--socket",
              path, "--seconds", "120", NULL);
        _exit(1);
    }
    for (int k = 0; k < 2000 && access(path, F_OK) != 0; k++) usleep(5000);
    return server;
}
static void end(pid_t server, int by) {
    int status;
    kill(server, by);
    waitpid(server, &status, 0);
}

/* ---- ranks as processes -------------------------------------------------------------------------------------------- */

static int run_rank(uint32_t *entered, int ranks, int rank, uint32_t rounds) {
    struct hlb_session s;
    struct hlb b;
    uint64_t begin = 0;
    if (rank == ranks - 1) usleep(LATE_US);
    WORKS(hlb_device_attach(&s));
    WORKS(hlb_device_claim(&s, "", (uint32_t)rank)); /* one node each: of that name, but its own port */
    WORKS(hlb_device_join(&s, 0, &b, 20 * SECOND));
    for (uint32_t round = 1; round <= rounds; round++) {
        __atomic_store_n(&entered[rank], round, __ATOMIC_RELEASE);
        int error = hlb_barrier(&b, 60 * SECOND);
        CHECK(error == 0, "rank %d: barrier %u: %s", rank, round, hlb_error(error));
        for (int k = 0; k < ranks; k++)
            CHECK(__atomic_load_n(&entered[k], __ATOMIC_ACQUIRE) >= round, "rank %d left barrier %u before rank %d entered it",
                  rank, round, k);
        if (round == 1) begin = hlb_now_ns();
    }
    if (rank == 0) printf("%d ranks on %s: %.2f us per barrier\n", ranks, s.facts.name,
                          (double)(hlb_now_ns() - begin) / 1000.0 / (rounds - 1));
    return 0;
}

static void ranks_keep_order(const char *program, const char *count, uint32_t rounds) {
    int ranks = atoi(count), status;
    char stale[16];
    pid_t child[HLB_PORTS];
    snprintf(stale, sizeof stale, "%u", 1u << (ranks - 1));
    pid_t server = serve(program, count, "1", stale);
    uint32_t *entered = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    fflush(stdout);
    for (int rank = 0; rank < ranks; rank++)
        if ((child[rank] = fork()) == 0) exit(run_rank(entered, ranks, rank, rounds));
    for (int rank = 0; rank < ranks; rank++) {
        waitpid(child[rank], &status, 0);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "rank %d: status %x", rank, status);
    }
    struct hlb_session s;
    WORKS(hlb_device_attach(&s));
    uint32_t id = 0, group = 0x200;
    WORKS(hlb_ask_of_group(&s, HLB_READ, 0, &id));
    WORKS(hlb_ask_of_group(&s, HLB_READ, 0, &group));
    CHECK(id == 0x48423031u && group == (uint32_t)((1ull << ranks) - 1), "ID reads %x, GROUP %x", id, group);
    hlb_device_detach(&s);
    end(server, SIGTERM);
    CHECK(access(path, F_OK) != 0, "the daemon left its socket");
}

/* ---- nodes in one process -------------------------------------------------------------------------------------------- */

enum { NODES = 4 };
static struct hlb_session node[NODES];

static void attach_nodes(void) {
    char name[16];
    for (int k = 0; k < NODES; k++) {
        snprintf(name, sizeof name, "node %d", k);
        WORKS(hlb_device_attach(&node[k]));
        WORKS(hlb_device_claim(&node[k], name, HLB_ANY_PORT));
    }
}

/* All but one arrive: none is released. Then the last. */
static void barriers(struct hlb *b, uint32_t members, int rounds) {
    for (int round = 0; round < rounds; round++) {
        int last = -1;
        for (int k = 0; k < NODES; k++) {
            if (!(members >> k & 1u)) continue;
            if (last < 0 && (last = k) >= 0) continue;
            hlb_enter(&b[k]);
            CHECK(!hlb_released(&b[k]), "node %d was released without node %d", k, last);
        }
        hlb_enter(&b[last]);
        for (int k = 0; k < NODES; k++)
            if (members >> k & 1u) WORKS(hlb_wait(&b[k], 20 * SECOND, NULL, NULL));
    }
}
static uint32_t group_of(struct hlb *b, uint32_t members) {
    uint32_t group, owner = (uint32_t)__builtin_ctz(members);
    WORKS(hlb_device_group(&node[owner], members, &group));
    for (int k = 0; k < NODES; k++)
        if (members >> k & 1u) WORKS(hlb_device_join(&node[k], group, &b[k], 20 * SECOND));
    return group;
}
static void leave(struct hlb *b, uint32_t members) {
    for (int k = 0; k < NODES; k++)
        if (members >> k & 1u) WORKS(hlb_device_leave(&node[k], &b[k]));
}

static void groups_come_and_go(void) {
    struct hlb b[HLB_GROUPS][NODES];
    uint32_t members[HLB_GROUPS] = {0xf, 0x3, 0xc, 0x5, 0xa, 0x9, 0x6, 0x7}, group[HLB_GROUPS], more;
    for (int g = 0; g < HLB_GROUPS; g++) group[g] = group_of(b[g], members[g]);
    CHECK(hlb_device_group(&node[0], 3, &more) == EBUSY, "a ninth group");
    CHECK(hlb_device_group(&node[0], 1u << NODES, &more) == EINVAL, "a port that the device has not");
    CHECK(hlb_device_join(&node[0], group[2], &b[2][0], SECOND) == EINVAL, "joined a group of others");
    for (int turn = 0; turn < 20; turn++)
        for (int g = 0; g < HLB_GROUPS; g++) barriers(b[g], members[g], turn % 3);
    WORKS(hlb_device_ungroup(&node[0], group[1]));
    CHECK(hlb_device_group(&node[0], 3, &more) == EBUSY, "handed out while members are in it");
    leave(b[1], members[1]);
    CHECK(group_of(b[1], members[1]) == group[1], "not recycled");
    barriers(b[1], members[1], 3);
    for (int g = 0; g < HLB_GROUPS; g++) {
        WORKS(hlb_device_ungroup(&node[__builtin_ctz(members[g])], group[g]));
        leave(b[g], members[g]);
    }
}

static void a_held_output_holds_all(pid_t server) {
    struct hlb b[NODES];
    uint32_t group = group_of(b, 0xf);
    kill(server, SIGUSR1);
    uint32_t id = 0;
    WORKS(hlb_ask_of_group(&node[0], HLB_READ, 0, &id)); /* an answer: the signal has been seen */
    for (int k = 0; k < NODES; k++) hlb_enter(&b[k]);
    for (int k = 0; k < NODES; k++) CHECK(hlb_wait(&b[k], SECOND / 20, NULL, NULL) == ETIMEDOUT, "released by no device");
    kill(server, SIGUSR2);
    for (int k = 0; k < NODES; k++) WORKS(hlb_wait(&b[k], 20 * SECOND, NULL, NULL));
    WORKS(hlb_device_ungroup(&node[0], group));
    leave(b, 0xf);
}

/* Node 1 dies having arrived: its pin stays. The others hear of it, and the group starts anew with the stale pin. */
static void a_dead_member_is_told_and_forgotten(void) {
    struct hlb b[NODES];
    uint32_t group = group_of(b, 0xf), more[HLB_GROUPS];
    barriers(b, 0xf, 1);
    hlb_enter(&b[1]);
    WORKS(hlb_device_lost(&node[0], &b[0]));
    hlb_device_detach(&node[1]);
    for (int k = 0; k < NODES; k++)
        for (int trial = 0; k != 1 && trial < 20000; trial++, usleep(1000))
            if (hlb_device_lost(&node[k], &b[k]) == EPIPE) break;
            else CHECK(trial < 19999, "node %d was not told", k);
    WORKS(hlb_device_ungroup(&node[0], group));
    CHECK(hlb_device_attach(&node[1]) == 0 && hlb_device_claim(&node[1], "a new node 1", HLB_ANY_PORT) == 0 && node[1].port == 1,
          "the dead node's port was not free");
    struct hlb_session fifth;
    WORKS(hlb_device_attach(&fifth));
    CHECK(hlb_device_claim(&fifth, "a fifth node", HLB_ANY_PORT) == EBUSY, "a fifth port");
    CHECK(hlb_device_claim(&fifth, "a fifth node", 2) == EBUSY && hlb_device_claim(&fifth, "a fifth node", NODES) == EINVAL, "a port of others");
    hlb_device_detach(&fifth);
    leave(b, 0xd);
    for (int g = 0; g < HLB_GROUPS; g++) WORKS(hlb_device_group(&node[0], 0xf, &more[g])); /* all are free again */
    for (int g = 0; g < HLB_GROUPS; g++)
        if (more[g] != group) WORKS(hlb_device_ungroup(&node[0], more[g]));
    for (int k = 0; k < NODES; k += k == 0 ? 2 : 1) WORKS(hlb_device_join(&node[k], group, &b[k], 20 * SECOND));
    for (int k = 0; k < NODES; k += k == 0 ? 2 : 1) hlb_enter(&b[k]);
    CHECK(hlb_wait(&b[0], SECOND / 20, NULL, NULL) == ETIMEDOUT, "released by a dead job's pin");
    WORKS(hlb_device_join(&node[1], group, &b[1], 20 * SECOND));
    hlb_enter(&b[1]);
    for (int k = 0; k < NODES; k++) WORKS(hlb_wait(&b[k], 20 * SECOND, NULL, NULL));
    barriers(b, 0xf, 5);
}

static void a_dead_daemon_is_told_and_replaced(const char *program, pid_t *server) {
    struct hlb b[NODES];
    for (int k = 0; k < NODES; k++) hlb_device_detach(&node[k]);
    attach_nodes();
    group_of(b, 0xf);
    struct sockaddr_un address;
    hlb_device_address(&address);
    end(*server, SIGKILL);
    CHECK(access(address.sun_path, F_OK) == 0, "a killed daemon leaves its socket");
    for (int k = 0; k < NODES; k++) CHECK(hlb_device_lost(&node[k], &b[k]) == ECONNRESET, "node %d was not told", k);
    struct hlb_session late;
    CHECK(hlb_device_attach(&late) == ECONNREFUSED, "attached to nobody");
    *server = serve(program, "4", "0", "10"); /* pins that the dead left */
    for (int k = 0; k < NODES; k++) hlb_device_detach(&node[k]);
    attach_nodes();
    group_of(b, 0xf);
    barriers(b, 0xf, 5);
}

int main(int argc, char **argv) {
    if (argc != 4) return fprintf(stderr, "usage: test_device SERVER RANKS ROUNDS\n"), 2;
    snprintf(path, sizeof path, "/tmp/hotlink-test-%d", (int)getpid());
    setenv("HOTLINK_BARRIER_DEVICE", path, 1);
    ranks_keep_order(argv[1], argv[2], (uint32_t)atoi(argv[3]));
    pid_t server = serve(argv[1], "4", "0", "0");
    attach_nodes();
    groups_come_and_go();
    a_held_output_holds_all(server);
    a_dead_member_is_told_and_forgotten();
    a_dead_daemon_is_told_and_replaced(argv[1], &server);
    end(server, SIGTERM);
    puts("barrier device: groups, deaths and restarts: passed");
    return 0;
}
