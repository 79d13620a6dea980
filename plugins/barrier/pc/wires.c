/* The wires between an emulated PC and the compiled RTL. It is preloaded into QEMU, whose parallel port then passes
 * the guest's port accesses on to a host port (`-chardev parallel,path=/dev/null`) that this library plays. Data bit 0
 * drives the rank's pin, status bit 6 shows the released level, as wired in docs/barrier.md.
 *
 *     HB_DEVICE           socket of the device's daemon
 *     HB_WATCH            shared memory of all wires
 *     HB_RANK, HB_RANKS   this PC's pin, and their number
 *
 * It watches the protocol from outside: counts arrivals and aborts if a PC reads its release before all have arrived. */
#define _GNU_SOURCE
#include "../hotlink_device.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <linux/ppdev.h>
#include <stdarg.h>

static struct { uint32_t arrivals[HLB_MAX_RANKS]; } *watch;
static struct hlb_session device;
static struct hlb_pins *pins;
static int rank, ranks;
static uint32_t level, started;

static void *map(const char *name, size_t bytes, int flags) {
    int file = shm_open(name, flags | O_RDWR, 0600);
    if (file < 0 || (flags && ftruncate(file, (off_t)bytes) != 0)) return perror(name), exit(1), NULL;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) return perror(name), exit(1), NULL;
    return memory;
}

__attribute__((constructor)) static void connect_wires(void) {
    const char *socket = getenv("HB_DEVICE"), *watched = getenv("HB_WATCH"), *number = getenv("HB_RANK"), *count = getenv("HB_RANKS");
    char node[32];
    if (!socket || !watched || !number || !count) return;
    rank = atoi(number), ranks = atoi(count);
    snprintf(node, sizeof node, "PC %d", rank);
    setenv("HOTLINK_BARRIER_DEVICE", socket, 1);
    int error = hlb_device_attach(&device);
    if (!error) error = hlb_device_claim(&device, node, (uint32_t)rank);
    if (error) fprintf(stderr, "wires: %s\n", hlb_error(error)), exit(1);
    pins = device.pins;
    watch = map(watched, sizeof *watch, O_CREAT);
    level = hlb_load(&pins->pin[0][rank].value);
}

static void write_data(unsigned char data) {
    if ((data & 1u) == level) return;
    level = data & 1u;
    /* The first change from a stale pin is the write-back, not an arrival: it shows the released level. */
    if (started || level != (hlb_load(&pins->status.value) & 1u)) {
        started = 1;
        __atomic_fetch_add(&watch->arrivals[rank], 1, __ATOMIC_SEQ_CST);
    }
    hlb_pin_set(pins, 0, (uint32_t)rank, level);
}

static unsigned char read_status(void) {
    unsigned released = hlb_load(&pins->status.value) & 1u;
    uint32_t mine = __atomic_load_n(&watch->arrivals[rank], __ATOMIC_SEQ_CST);
    if (started && released == level)
        for (int k = 0; k < ranks; k++)
            if (__atomic_load_n(&watch->arrivals[k], __ATOMIC_SEQ_CST) < mine) {
                fprintf(stderr, "wires: PC %d was released from barrier %u before PC %d arrived\n", rank, mine, k);
                abort();
            }
    return (unsigned char)(released << 6 | 0x18u); /* no error, on line */
}

int ioctl(int file, unsigned long request, ...) {
    va_list list;
    va_start(list, request);
    unsigned char *argument = va_arg(list, unsigned char *);
    va_end(list);
    if (pins && (request >> 8 & 0xffu) == PP_IOCTL) {
        if (request == PPWDATA) write_data(*argument);
        else if (request == PPRDATA) *argument = (unsigned char)level;
        else if (request == PPRSTATUS) *argument = read_status();
        else if (request == PPRCONTROL) *argument = 0;
        return 0;
    }
    static int (*real)(int, unsigned long, ...);
    if (!real) real = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
    return real(file, request, argument);
}
