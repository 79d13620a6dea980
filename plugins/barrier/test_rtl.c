/* Real ranks on the compiled RTL: `test_rtl SERVER RANKS ROUNDS`. Starts the server with a stale pin, joins with one
 * process per rank, the one with the stale pin late, and checks that nobody leaves before all
 * have entered; then reads the register file. */
#include "hotlink_barrier.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define SECOND 1000000000ull
#define LATE_NS (SECOND / 5)

static int run_rank(struct hlb_pins *pins, uint32_t *entered, int ranks, int rank, uint32_t rounds) {
    struct hlb b;
    uint64_t begin = 0;
    if (rank == ranks - 1) usleep(LATE_NS / 1000);
    int error = hlb_pins_attach(&b, pins, ranks, rank, 10 * SECOND);
    if (error) return fprintf(stderr, "rank %d: attach: %s\n", rank, hlb_error(error)), 2;
    for (uint32_t round = 1; round <= rounds; round++) {
        __atomic_store_n(&entered[rank], round, __ATOMIC_RELEASE);
        if ((error = hlb_barrier(&b, 20 * SECOND)) != 0)
            return fprintf(stderr, "rank %d: barrier %u: %s\n", rank, round, hlb_error(error)), 3;
        for (int k = 0; k < ranks; k++)
            if (__atomic_load_n(&entered[k], __ATOMIC_ACQUIRE) < round)
                return fprintf(stderr, "rank %d left barrier %u before rank %d entered it\n", rank, round, k), 4;
        if (round == 1) begin = hlb_now_ns();
    }
    if (rank == 0)
        printf("%d ranks on the compiled RTL: %.2f us per barrier\n", ranks,
               (double)(hlb_now_ns() - begin) / 1000.0 / (rounds - 1));
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 4) return fprintf(stderr, "usage: test_rtl SERVER RANKS ROUNDS\n"), 2;
    int ranks = atoi(argv[2]), failed = 0, status, file = -1;
    char name[64], stale[16];
    snprintf(name, sizeof name, "/hotlink-test-%d", (int)getpid());
    snprintf(stale, sizeof stale, "%u", 1u << (ranks - 1));
    pid_t server = fork();
    if (server == 0) execl(argv[1], argv[1], "--ranks", argv[2], "--shm", name, "--seconds", "60", "--stale", stale, NULL);
    for (int k = 0; k < 1000 && (file = shm_open(name, O_RDWR, 0)) < 0; k++) usleep(10000);
    if (file < 0) return fprintf(stderr, "the server did not start\n"), 1;
    for (int k = 0; k < 1000 && lseek(file, 0, SEEK_END) < (off_t)sizeof(struct hlb_pins); k++) usleep(1000);
    struct hlb_pins *pins = mmap(NULL, sizeof *pins, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    uint32_t *entered = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child[32];
    for (int rank = 0; rank < ranks; rank++)
        if ((child[rank] = fork()) == 0) exit(run_rank(pins, entered, ranks, rank, (uint32_t)atoi(argv[3])));
    for (int rank = 0; rank < ranks; rank++) {
        waitpid(child[rank], &status, 0);
        failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    uint32_t id = 0, group = 0;
    if (hlb_pins_bus(pins, 0, 0x000, &id, SECOND) || id != 0x48423031u) failed = fprintf(stderr, "ID reads %x\n", id);
    if (hlb_pins_bus(pins, 0, 0x200, &group, SECOND) || group != (1u << ranks) - 1u) failed = fprintf(stderr, "GROUP reads %x\n", group);
    kill(server, SIGTERM);
    waitpid(server, &status, 0);
    return failed ? 1 : 0;
}
