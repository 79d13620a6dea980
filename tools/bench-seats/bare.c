/* The least cost of handing over between processes here. One process wakes each of the others in turn, and waits
 * until that one has woken it. All of them share one core, as ranks on a simulated fabric do. Usage: bare PROCESSES
 * ROUNDS. Prints microseconds of a hand-over to and fro. */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* Two words on cache lines of their own: how often the process was woken, and how often it answered. */
struct seat {
    _Alignas(64) atomic_int woken;
    _Alignas(64) atomic_int answered;
};

static void set(atomic_int *word, int value)
{
    atomic_store(word, value);
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void await(atomic_int *word, int value)
{
    int seen;
    while ((seen = atomic_load(word)) < value)
        syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

int main(int argc, char **argv)
{
    int processes = argc > 2 ? atoi(argv[1]) : 0, rounds = argc > 2 ? atoi(argv[2]) : 0;
    if (processes < 1 || rounds < 1) {
        fprintf(stderr, "usage: bare PROCESSES ROUNDS, each at least 1\n");
        return 2;
    }
    cpu_set_t one, all;
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (int core = CPU_SETSIZE - 1; core >= 0; core--)
        if (CPU_ISSET(core, &all)) {
            CPU_SET(core, &one);
            break;
        }
    sched_setaffinity(0, sizeof one, &one);
    struct seat *seats = mmap(NULL, processes * sizeof *seats, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (seats == MAP_FAILED)
        return 1;
    for (int i = 0; i < processes; i++) {
        pid_t child = fork();
        if (child < 0) {
            perror("fork");
            return 1;
        }
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (int round = 1; round <= rounds; round++) {
                await(&seats[i].woken, round);
                set(&seats[i].answered, round);
            }
            _exit(0);
        }
    }
    double start = 0;
    for (int round = 1; round <= rounds; round++) {
        if (round == 2 || rounds == 1) /* The first finds processes that have never run. */
            start = seconds();
        for (int i = 0; i < processes; i++) {
            set(&seats[i].woken, round);
            await(&seats[i].answered, round);
        }
    }
    printf("%.3f\n", 1e6 * (seconds() - start) / processes / (rounds > 1 ? rounds - 1 : 1));
    while (wait(NULL) > 0)
        ;
    return 0;
}
