/* All that runs in the emulated PC: process 1 of a bare Linux. It is one rank of the barrier by its parallel port,
 * with the driver's own calls (hlb_port_attach: ioperm, inb, outb). Prints what it saw on the console and switches off.
 * Kernel parameters that the kernel does not know (HB_RANK=0) reach it as environment variables. */
#define _GNU_SOURCE
#include "../hotlink_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/reboot.h>
#include <sys/wait.h>

#define SECOND 1000000000ull

static int number(const char *name) {
    const char *text = getenv(name);
    return text ? atoi(text) : 0;
}

static int forbidden_without_privilege(void) {
    pid_t child = fork();
    if (child == 0) {
        struct hlb b;
        _exit(setuid(1000) != 0 || hlb_port_attach(&b, 0x378, 6, 2, 0, 0) != EPERM);
    }
    int status = 1;
    waitpid(child, &status, 0);
    return status == 0;
}

static const char *run(int ranks, int rank, int barriers) {
    struct hlb b;
    static char why[200];
    int error = hlb_port_attach(&b, 0x378, 6, ranks, rank, SECOND / 50);
    for (int k = 1; k <= barriers && !error; k++) {
        if (k % 16 == rank) usleep(1000); /* now one is late, now another */
        error = hlb_barrier(&b, 60 * SECOND);
        if (error) return snprintf(why, sizeof why, "barrier %d: %s", k, hlb_error(error)), why;
    }
    return error ? hlb_error(error) : NULL;
}

int main(void) {
    int ranks = number("HB_RANKS"), rank = number("HB_RANK"), barriers = number("HB_BARRIERS");
    uint64_t begin = hlb_now_ns();
    if (!forbidden_without_privilege()) printf("PC %d: FAILED: a user without privilege got the port\n", rank);
    const char *why = run(ranks, rank, barriers);
    if (why) printf("PC %d: FAILED: %s\n", rank, why);
    else printf("PC %d: passed, %d barriers by port 0x378 in %.3f s\n", rank, barriers, (double)(hlb_now_ns() - begin) * 1e-9);
    fflush(stdout);
    reboot(RB_AUTOBOOT); /* QEMU runs with -no-reboot: it ends */
    return 1;
}
