/* A parallel port, preloaded into programs that have been built for one (kernel.c has the rest). ioperm answers as
 * the kernel does. The processor then refuses each access, since nothing was granted, and the access is carried out on
 * the wires of the model board. Pins are those of docs/barrier.md. An access takes five clocks of the board.
 *
 *     BOARD_LOCKED   set: ports are forbidden, as by a kernel that is locked down */
#define _GNU_SOURCE
#include "kernel.h"

#include <dlfcn.h>
#include <signal.h>
#include <ucontext.h>

#if defined(__x86_64__)
enum { BASE = 0x378, PORTS = 3, STATUS_AT_REST = 0x18 /* no error, on line */ };
enum { IN_AL_DX = 0xec, OUT_DX_AL = 0xee };

static __thread int granted; /* a kernel grants ports to one thread */

static unsigned char port_in(unsigned port) {
    switch (port) {
    case 0: return (unsigned char)level_of(wire(OUT_LINE));
    case 1: return (unsigned char)(level_of(wire(IN_LINE)) << 6 | level_of(&board->miso) << 5 | STATUS_AT_REST);
    default: return (unsigned char)(level_of(&board->cs_n) << 2 | (level_of(&board->sck) ^ 1u) << 1 | (level_of(&board->mosi) ^ 1u));
    }
}

static void port_out(unsigned port, unsigned value) {
    if (port == 0) set(wire(OUT_LINE), value);
    if (port == 2) {
        set(&board->mosi, ~value);
        set(&board->cs_n, value >> 2);
        wait_clocks(1); /* the wires of one write do not move in the same clock */
        set(&board->sck, ~value >> 1);
    }
}

static void carry_out(int number, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char code = *(const unsigned char *)registers[REG_RIP];
    const unsigned port = ((unsigned)registers[REG_RDX] & 0xffffu) - BASE;
    (void)info;
    if (!granted || port >= PORTS || (code != IN_AL_DX && code != OUT_DX_AL)) {
        signal(number, SIG_DFL); /* another fault: it comes again, and ends the program */
        return;
    }
    wait_clocks(5);
    if (code == IN_AL_DX) registers[REG_RAX] = (registers[REG_RAX] & ~(greg_t)0xff) | port_in(port);
    else port_out(port, (unsigned)registers[REG_RAX] & 0xffu);
    registers[REG_RIP]++;
}

int ioperm(unsigned long from, unsigned long count, int on) {
    if (!board) {
        int (*real)(unsigned long, unsigned long, int) = (int (*)(unsigned long, unsigned long, int))dlsym(RTLD_NEXT, "ioperm");
        return real(from, count, on);
    }
    if (from + count > 65536 || count == 0) return refuse(EINVAL);
    if (getenv("BOARD_LOCKED")) return refuse(EPERM);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = carry_out;
    action.sa_flags = SA_SIGINFO;
    granted = on && from == BASE && count == PORTS;
    return sigaction(SIGSEGV, &action, NULL);
}
#endif
