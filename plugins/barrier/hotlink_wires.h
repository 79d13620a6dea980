/* The wires between a node and a barrier device: OUT, which the node drives, and IN, which shows the released level.
 * Their use is in hotlink_barrier.h. One pair for each group of the device. C11 or C++, Linux.
 *
 *     pins   shared memory: the compiled RTL in the daemon's process
 *     port   a PC's parallel port, as H06 had (ioperm, inb, outb): the first group
 *     gpio   lines of a GPIO chip, by its character device
 *     uio    a card of this node's, memory-mapped: its port is on the device's bus
 *
 * Where the kernel can interrupt (edges of a line, a card's interrupt), a long wait sleeps until it does. */
#ifndef HOTLINK_WIRES_H
#define HOTLINK_WIRES_H

#include "hotlink_barrier.h"

#include <fcntl.h>
#include <linux/gpio.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#if defined(__x86_64__) || defined(__i386__)
#include <sys/io.h>
#endif

#define HLB_PORTS 32         /* most nodes of a device */
#define HLB_GROUPS 8         /* groups that a device holds at once */

/* The RTL's pins, in shared memory. */
struct hlb_pins {
    struct hlb_word status;  /* bit g: the released level of group g, H06's IN wires */
    struct hlb_word bell;    /* the device sleeps on it when nothing moves */
    uint64_t clocks __attribute__((aligned(HLB_LINE))); /* of the RTL since its start */
    struct hlb_word pin[HLB_GROUPS][HLB_PORTS];         /* each node's OUT wires */
};

/* ---- pins in shared memory --------------------------------------------------------------------------------- */

/* Shows a level at a pin. The exchange orders it before the read of `parked`. The device counts itself parked before
 * its last read of the pins, so one of the two sees the other. */
static inline void hlb_pin_set(struct hlb_pins *pins, uint32_t group, uint32_t port, uint32_t level) {
    __atomic_exchange_n(&pins->pin[group][port].value, level, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&pins->bell.parked, __ATOMIC_SEQ_CST) != 0) hlb_store(&pins->bell, hlb_load(&pins->bell.value) + 1);
}

static inline unsigned hlb_pins_status(struct hlb *b) {
    return hlb_load(&((struct hlb_pins *)b->memory)->status.value) >> b->group & 1u;
}
static inline void hlb_pins_write(struct hlb *b) {
    hlb_pin_set((struct hlb_pins *)b->memory, b->group, (uint32_t)b->rank, b->epoch & 1u);
}
static inline int hlb_pins_read(struct hlb *b) { return hlb_pins_status(b) == (b->epoch & 1u); }

static inline struct hlb_word *hlb_pins_awaited(struct hlb *b, uint32_t *seen) {
    struct hlb_word *word = &((struct hlb_pins *)b->memory)->status;
    *seen = hlb_load(&word->value);
    return (*seen >> b->group & 1u) == (b->epoch & 1u) ? NULL : word;
}

/* Opens the pins, and writes the status back. */
static inline void hlb_pins_open(struct hlb *b, struct hlb_pins *pins) {
    b->memory = pins;
    b->write = hlb_pins_write;
    b->read = hlb_pins_read;
    b->awaited = hlb_pins_awaited;
    b->epoch = hlb_pins_status(b);
    hlb_pins_write(b);
}

/* ---- the parallel port --------------------------------------------------------------------------------------- */

#if defined(__x86_64__) || defined(__i386__)
/* The port whose registers this thread may reach, and 1. A kernel gives them to one thread, and a program may wait
 * in another thread than the one that opened the door. */
static __thread unsigned hlb_port_mine;

/* Data, status and control registers for this thread; 0 or an errno value. */
static inline int hlb_port_take(unsigned base) {
    if (hlb_port_mine == base + 1) return 0;
    if (ioperm(base, 3, 1) != 0) return errno;
    hlb_port_mine = base + 1;
    return 0;
}

static inline void hlb_port_write(struct hlb *b) {
    if (hlb_port_take(b->base) == 0) outb((unsigned char)(b->epoch & 1u), (unsigned short)b->base);
}

static inline unsigned hlb_port_status(struct hlb *b) {
    return (unsigned)inb((unsigned short)(b->base + 1)) >> b->in_bit & 1u;
}

/* A port that was taken from this process shows no release. */
static inline int hlb_port_read(struct hlb *b) {
    return hlb_port_take(b->base) == 0 && hlb_port_status(b) == (b->epoch & 1u);
}

/* Opens the parallel port at `base` (0x378 is the usual one). OUT is data bit 0 (pin 2), IN status bit `in_bit` (6:
 * pin 10, not inverted). Needs ioperm, so CAP_SYS_RAWIO; returns the errno of the refusal. Writes the status back. */
static inline int hlb_port_open(struct hlb *b, unsigned base, unsigned in_bit) {
    if (base > 0xfff0 || in_bit < 3 || in_bit > 6) return EINVAL; /* bits 0-2 are no wires, 7 is inverted */
    int error = hlb_port_take(base);
    if (error) return error;
    b->base = base;
    b->in_bit = in_bit;
    b->write = hlb_port_write;
    b->read = hlb_port_read;
    b->epoch = hlb_port_status(b);
    hlb_port_write(b);
    return 0;
}

/* The same without a daemon: hold_ns is how long the write-back must last before the first barrier. It must exceed
 * the delay of the device's synchroniser and filter. */
static inline int hlb_port_attach(struct hlb *b, unsigned base, unsigned in_bit, int ranks, int rank, uint64_t hold_ns) {
    int error = hlb_begin(b, ranks, rank);
    if (!error) error = hlb_port_open(b, base, in_bit);
    for (uint64_t begin = hlb_now_ns(); !error && hlb_now_ns() - begin < hold_ns;) HLB_PAUSE();
    return error;
}
#endif

/* ---- lines of a GPIO chip ------------------------------------------------------------------------------------------- */

static inline void hlb_gpio_write(struct hlb *b) {
    struct gpio_v2_line_values values;
    values.bits = b->epoch & 1u;
    values.mask = 1;
    ioctl(b->out_file, GPIO_V2_LINE_SET_VALUES_IOCTL, &values);
}

/* A line that cannot be read shows no release. */
static inline int hlb_gpio_read(struct hlb *b) {
    struct gpio_v2_line_values values;
    values.bits = 0;
    values.mask = 1;
    return ioctl(b->in_file, GPIO_V2_LINE_GET_VALUES_IOCTL, &values) == 0 && (values.bits & 1u) == (b->epoch & 1u);
}

/* Takes one line, with these flags, an output at `level`; returns its file, or -1 with errno. */
static inline int hlb_gpio_line(int chip, unsigned offset, uint64_t flags, unsigned level) {
    int output = (flags & GPIO_V2_LINE_FLAG_OUTPUT) != 0;
    struct gpio_v2_line_request request;
    memset(&request, 0, sizeof request);
    request.offsets[0] = offset;
    request.num_lines = 1;
    snprintf(request.consumer, sizeof request.consumer, "hotlink-barrier");
    request.config.flags = flags;
    if (output) {
        request.config.num_attrs = 1;
        request.config.attrs[0].attr.id = GPIO_V2_LINE_ATTR_ID_OUTPUT_VALUES;
        request.config.attrs[0].attr.values = level;
        request.config.attrs[0].mask = 1;
    }
    return ioctl(chip, GPIO_V2_GET_LINE_IOCTL, &request) == 0 ? request.fd : -1;
}

/* Until there is something to read, or so long; 1: there is. */
static inline int hlb_readable(int file, uint64_t ns) {
    struct pollfd one;
    one.fd = file;
    one.events = POLLIN;
    one.revents = 0;
    return poll(&one, 1, (int)((ns + 999999) / 1000000)) > 0 && (one.revents & POLLIN) != 0;
}

/* The kernel keeps edges from when the line was taken. Those before the sleep are taken out first by the next one, so that
 * it may wake once for nothing, and none is missed. */
static inline int hlb_gpio_doze(struct hlb *b, uint64_t ns) {
    struct gpio_v2_line_event events[16];
    return hlb_readable(b->in_file, ns) && read(b->in_file, events, sizeof events) > 0;
}

static inline void hlb_gpio_shut(struct hlb *b) {
    close(b->in_file);
    close(b->out_file);
}

/* Opens a pair of lines of the chip at `path`. OUT begins at the released level, which is the write-back. */
static inline int hlb_gpio_open(struct hlb *b, const char *path, unsigned out, unsigned in) {
    int chip = open(path, O_RDWR | O_CLOEXEC), error = 0;
    const uint64_t edges = GPIO_V2_LINE_FLAG_EDGE_RISING | GPIO_V2_LINE_FLAG_EDGE_FALLING;
    if (chip < 0) return errno;
    b->in_file = hlb_gpio_line(chip, in, GPIO_V2_LINE_FLAG_INPUT | edges, 0);
    b->doze = b->in_file < 0 ? NULL : hlb_gpio_doze;
    if (b->in_file < 0) b->in_file = hlb_gpio_line(chip, in, GPIO_V2_LINE_FLAG_INPUT, 0); /* a chip without interrupts */
    if (b->in_file < 0) error = errno;
    b->epoch = 0;
    if (!error) b->epoch = hlb_gpio_read(b) ? 0 : 1;
    b->out_file = error ? -1 : hlb_gpio_line(chip, out, GPIO_V2_LINE_FLAG_OUTPUT, b->epoch & 1u);
    if (!error && b->out_file < 0) {
        error = errno;
        close(b->in_file);
    }
    close(chip);
    b->write = hlb_gpio_write;
    b->read = hlb_gpio_read;
    b->shut = error ? NULL : hlb_gpio_shut;
    return error;
}

/* ---- a memory-mapped card ------------------------------------------------------------------------------------------- */

enum { HLB_CARD_BYTES = 4096, HLB_STATUS = 2, HLB_IRQ_STATUS = 4, HLB_IRQ_ENABLE = 5, HLB_TOGGLE = 0x100 };

/* The registers of the card behind `file`, its first mapping; NULL with errno. */
static inline volatile uint32_t *hlb_card_map(int file) {
    void *at = mmap(NULL, HLB_CARD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return at == MAP_FAILED ? NULL : (volatile uint32_t *)at;
}

static inline unsigned hlb_card_status(struct hlb *b) { return ((volatile uint32_t *)b->memory)[HLB_STATUS] >> b->group & 1u; }
static inline int hlb_card_read(struct hlb *b) { return hlb_card_status(b) == (b->epoch & 1u); }
static inline void hlb_card_write(struct hlb *b) { ((volatile uint32_t *)b->memory)[HLB_TOGGLE + b->rank] = 1u << b->group; }

/* Clears what is pending, lets the kernel take an interrupt, reads the status, sleeps: in this order none is missed. */
static inline int hlb_card_doze(struct hlb *b, uint64_t ns) {
    volatile uint32_t *pending = (volatile uint32_t *)b->memory + HLB_IRQ_STATUS;
    uint32_t count, on = 1;
    *pending = 1u << b->group;
    if (write(b->in_file, &on, sizeof on) != (ssize_t)sizeof on) return 0;
    if (hlb_card_read(b) || !hlb_readable(b->in_file, ns)) return 0;
    if (read(b->in_file, &count, sizeof count) != (ssize_t)sizeof count) return 0;
    if (!hlb_card_read(b)) *pending = ~0u; /* another group's: its waiters wake by themselves soon */
    return 1;
}

static inline void hlb_card_shut(struct hlb *b) {
    munmap(b->memory, HLB_CARD_BYTES);
    close(b->in_file);
}

/* Opens the card at `path` (/dev/uio0). The port is a host on the device's bus. A start of the group has set its
 * level to the released one, so there is nothing to write back. */
static inline int hlb_card_open(struct hlb *b, const char *path) {
    b->in_file = open(path, O_RDWR | O_CLOEXEC);
    if (b->in_file < 0) return errno;
    b->memory = (void *)(uintptr_t)hlb_card_map(b->in_file);
    if (!b->memory) {
        int error = errno;
        close(b->in_file);
        return error;
    }
    b->write = hlb_card_write;
    b->read = hlb_card_read;
    b->doze = hlb_card_doze;
    b->shut = hlb_card_shut;
    b->epoch = hlb_card_status(b);
    ((volatile uint32_t *)b->memory)[HLB_IRQ_ENABLE] = (1u << HLB_GROUPS) - 1u; /* other nodes' cards have their own */
    return 0;
}

/* Opens the door's group by the words that HOTLINK_BARRIER_WIRES takes. ENOTSUP: no such words, or no pair for it. */
static inline int hlb_wires_open(struct hlb *b, const char *words) {
    char path[64];
    unsigned out, in, group = 0;
    int used = 0;
    if (strncmp(words, "port:", 5) == 0) {
#if defined(__x86_64__) || defined(__i386__)
        char *end;
        const unsigned long base = strtoul(words + 5, &end, 0);
        if (b->group != 0 || end == words + 5 || *end || base > 0xfff0) return ENOTSUP;
        return hlb_port_open(b, (unsigned)base, 6);
#else
        return ENOSYS;
#endif
    }
    if (strncmp(words, "uio:/", 5) == 0) return hlb_card_open(b, words + 4);
    if (sscanf(words, "gpio:%63[^:]%n", path, &used) != 1 || words[used] != ':') return ENOTSUP;
    for (words += used; *words; words += used, group++) {
        if (sscanf(words + 1, "%u/%u%n", &out, &in, &used) != 2) return ENOTSUP;
        used++;
        if (words[used] != ',' && words[used] != 0) return ENOTSUP;
        if (group == b->group) return hlb_gpio_open(b, path, out, in);
    }
    return ENOTSUP;
}

#endif
