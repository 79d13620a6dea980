/* A model of a kernel with a GPIO chip, an SPI controller and a card, preloaded into programs that have been built
 * for such. The system calls on /dev/gpiochip0 and /dev/spidev0.0 move the wires of a model board (wires.h). /dev/uio0
 * maps the registers of a model card.
 *
 * The parallel port is in port.c.
 *
 *     BOARD_SHM    the board's shared memory
 *     CARD_SHM     the card's
 *     BOARD_NODE   which node this process is: lines 10 + g are its OUT wires of group g, 20 + g its IN wires
 *     BOARD_CUT    out or in: that wire of this node's is cut, and rests at 1
 *
 * It refuses what a kernel refuses: lines that are in use, unknown flags, values of inputs, words that are too long. */
#define _GNU_SOURCE
#include "kernel.h"

#include <dlfcn.h>
#include <linux/spi/spidev.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/socket.h>

enum { FILES = 1024, NONE = 0, CHIP, SPI, LINE, CARD };
/* seen: the level of a line that reads have reported; masked: a card's interrupt, until it is written to. */
static struct { int what, output, edges, masked; unsigned offset; uint32_t seen; } files[FILES];
struct board *board;
static struct card *card;
static int card_file = -1;
static int node;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("BOARD_SHM"), *number = getenv("BOARD_NODE");
    if (name && !(board = board_map(name, 0))) perror(name), _exit(1);
    if (number) node = atoi(number);
    name = getenv("CARD_SHM");
    if (name && (!(card = card_map(name, 0)) || (card_file = shm_open(name, O_RDWR, 0600)) < 0)) perror(name), _exit(1);
}

static int fresh(int what) {
    static int (*real)(const char *, int, ...);
    if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    int file = real("/dev/null", O_RDWR | O_CLOEXEC);
    if (file >= 0 && file < FILES) files[file].what = what;
    return file;
}
static int open_file(const char *path, int flags, mode_t mode) {
    static int (*real)(const char *, int, ...);
    if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    if (board && strcmp(path, "/dev/gpiochip0") == 0) return fresh(CHIP);
    if (board && strcmp(path, "/dev/spidev0.0") == 0) return fresh(SPI);
    if (card && strcmp(path, "/dev/uio0") == 0) {
        int file = fresh(CARD);
        if (file >= 0) files[file].masked = 1;
        return file;
    }
    return real(path, flags, mode);
}
#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        va_list list; \
        va_start(list, flags); \
        mode_t mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, mode_t) : 0; \
        va_end(list); \
        return open_file(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

int close(int file) {
    static int (*real)(int);
    if (!real) real = (int (*)(int))dlsym(RTLD_NEXT, "close");
    if (file >= 0 && file < FILES) memset(&files[file], 0, sizeof files[file]);
    return real(file);
}

/* The first mapping of a card are its registers. */
#define MMAP(name) \
    void *name(void *at, size_t bytes, int protection, int flags, int file, off_t offset) { \
        static void *(*real)(void *, size_t, int, int, int, off_t); \
        if (!real) real = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, #name); \
        if (file >= 0 && file < FILES && files[file].what == CARD) { \
            if (offset != 0 || bytes > HLB_CARD_BYTES || !(flags & MAP_SHARED)) return errno = EINVAL, MAP_FAILED; \
            file = card_file; \
        } \
        return real(at, bytes, protection, flags, file, offset); \
    }
MMAP(mmap)
MMAP(mmap64)

/* What an interrupt of this file shows in; NULL: no such file. */
static struct hlb_word *source(int file) {
    if (file < 0 || file >= FILES) return NULL;
    if (files[file].what == CARD) return &card->irq;
    return files[file].what == LINE && files[file].edges ? wire(files[file].offset) : NULL;
}
/* A card's is there as long as its line is up; a line's when its level differs from the last reported one. */
static int interrupts(int file, uint32_t now) {
    return files[file].what == CARD ? now && !files[file].masked : now != files[file].seen;
}

/* Of one file, as the drivers ask. glibc 2.36 declares that poll only writes what it is given. */
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
int poll(struct pollfd *what, nfds_t count, int limit_ms) {
    static int (*real)(struct pollfd *, nfds_t, int);
    struct hlb_word *word = count == 1 ? source(what->fd) : NULL;
    if (!real) real = (int (*)(struct pollfd *, nfds_t, int))dlsym(RTLD_NEXT, "poll");
    if (!word) return real(what, count, limit_ms);
    uint64_t end = hlb_now_ns() + (uint64_t)limit_ms * 1000000u;
    for (uint32_t now; !interrupts(what->fd, now = hlb_load(&word->value));) {
        uint64_t at = hlb_now_ns();
        if (at >= end) return what->revents = 0;
        hlb_park(word, now, end - at);
    }
    what->revents = POLLIN;
    return 1;
}

ssize_t read(int file, void *to, size_t bytes) {
    static ssize_t (*real)(int, void *, size_t);
    struct hlb_word *word = source(file);
    if (!real) real = (ssize_t(*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
    if (!word) return real(file, to, bytes);
    uint32_t now = hlb_load(&word->value);
    if (!interrupts(file, now)) return refuse(EAGAIN); /* a kernel would block: no driver asks before it was notified */
    if (files[file].what == CARD) {
        if (bytes != sizeof now) return refuse(EINVAL);
        files[file].masked = 1; /* as the generic PCI driver does */
        memcpy(to, &now, sizeof now);
        return sizeof now;
    }
    files[file].seen = now;
    struct gpio_v2_line_event event;
    if (bytes < sizeof event) return refuse(EINVAL);
    memset(&event, 0, sizeof event);
    event.timestamp_ns = hlb_now_ns();
    event.id = now & 1u ? GPIO_V2_LINE_EVENT_RISING_EDGE : GPIO_V2_LINE_EVENT_FALLING_EDGE;
    memcpy(to, &event, sizeof event);
    return sizeof event;
}

/* A bus keeps order: writes to the card are there before a system call, or before another process learns of them.
 * The model has to poll first, and a poll that was under way may have missed them. */
static void settle(void) {
    for (uint32_t begin = hlb_load(&card->turns.value); hlb_load(&card->turns.value) - begin < 2;) sched_yield();
}
ssize_t sendmsg(int to, const struct msghdr *message, int flags) {
    static ssize_t (*real)(int, const struct msghdr *, int);
    if (!real) real = (ssize_t(*)(int, const struct msghdr *, int))dlsym(RTLD_NEXT, "sendmsg");
    if (card) settle();
    return real(to, message, flags);
}

ssize_t write(int file, const void *from, size_t bytes) {
    static ssize_t (*real)(int, const void *, size_t);
    if (!real) real = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    if (file < 0 || file >= FILES || files[file].what != CARD) return real(file, from, bytes);
    if (bytes != sizeof(uint32_t)) return refuse(EINVAL);
    settle();
    files[file].masked = *(const uint32_t *)from == 0;
    return (ssize_t)bytes;
}

void wait_clocks(uint32_t count) {
    uint32_t begin = hlb_load(&board->clocks.value);
    for (uint64_t since = hlb_now_ns(); hlb_load(&board->clocks.value) - begin < count; sched_yield())
        if (hlb_now_ns() - since > 10000000000u) fprintf(stderr, "kernel: the board stands still\n"), _exit(1);
}

/* Mode 0, most significant bit first; a half period is five clocks of the board. */
static int transfer(const struct spi_ioc_transfer *t) {
    const unsigned char *out = (const unsigned char *)(uintptr_t)t->tx_buf;
    unsigned char *in = (unsigned char *)(uintptr_t)t->rx_buf;
    if (!out || !in || t->len > 4096 || (t->bits_per_word && t->bits_per_word != 8)) return refuse(EINVAL);
    set(&board->cs_n, 0);
    wait_clocks(8);
    for (uint32_t k = 0; k < 8 * t->len; k++) {
        set(&board->mosi, out[k / 8] >> (7 - k % 8));
        wait_clocks(5);
        set(&board->sck, 1);
        unsigned bit = hlb_load(&board->miso.value) & 1u;
        in[k / 8] = (unsigned char)((in[k / 8] & ~(0x80u >> k % 8)) | bit << (7 - k % 8));
        wait_clocks(5);
        set(&board->sck, 0);
    }
    wait_clocks(8);
    set(&board->cs_n, 1);
    wait_clocks(8);
    return (int)t->len;
}

struct hlb_word *wire(unsigned offset) {
    static struct hlb_word nowhere = {1, 0, ""};
    const char *cut = getenv("BOARD_CUT");
    if (cut && (offset < IN_LINE) == (strcmp(cut, "out") == 0)) return &nowhere;
    if (offset >= OUT_LINE && offset < OUT_LINE + BOARD_GROUPS) return &board->out[offset - OUT_LINE][node];
    if (offset >= IN_LINE && offset < IN_LINE + BOARD_GROUPS) return &board->in[offset - IN_LINE];
    return NULL;
}

static int take_line(struct gpio_v2_line_request *r) {
    const uint64_t edges = GPIO_V2_LINE_FLAG_EDGE_RISING | GPIO_V2_LINE_FLAG_EDGE_FALLING;
    int output = r->config.flags == GPIO_V2_LINE_FLAG_OUTPUT;
    unsigned offset = r->offsets[0];
    if (r->num_lines != 1 || !wire(offset) || (!output && (r->config.flags & ~edges) != GPIO_V2_LINE_FLAG_INPUT)) return refuse(EINVAL);
    for (int k = 0; k < FILES; k++)
        if (files[k].what == LINE && files[k].offset == offset) return refuse(EBUSY);
    if (output && offset >= IN_LINE) return refuse(EPERM); /* an input-only line */
    if ((r->fd = fresh(LINE)) < 0) return -1;
    files[r->fd].output = output;
    files[r->fd].offset = offset;
    files[r->fd].edges = (r->config.flags & edges) != 0;
    files[r->fd].seen = hlb_load(&wire(offset)->value);
    unsigned level = 0;
    for (unsigned k = 0; k < r->config.num_attrs; k++)
        if (r->config.attrs[k].attr.id == GPIO_V2_LINE_ATTR_ID_OUTPUT_VALUES && r->config.attrs[k].mask & 1u)
            level = r->config.attrs[k].attr.values & 1u;
    if (output) set(wire(offset), level);
    return 0;
}

static int of_line(int file, unsigned long request, struct gpio_v2_line_values *values) {
    struct hlb_word *line = wire(files[file].offset);
    if (values->mask != 1) return refuse(EINVAL);
    if (request == GPIO_V2_LINE_GET_VALUES_IOCTL) values->bits = hlb_load(&line->value) & 1u;
    else if (request == GPIO_V2_LINE_SET_VALUES_IOCTL && files[file].output) set(line, values->bits & 1u);
    else return refuse(EPERM);
    return 0;
}

int ioctl(int file, unsigned long request, ...) {
    va_list list;
    va_start(list, request);
    void *argument = va_arg(list, void *);
    va_end(list);
    int what = file >= 0 && file < FILES ? files[file].what : NONE;
    if (what == CHIP && request == GPIO_V2_GET_LINE_IOCTL) return take_line(argument);
    if (what == LINE) return of_line(file, request, argument);
    if (what == SPI && request == SPI_IOC_MESSAGE(1)) return transfer(argument);
    if (what == SPI && request == SPI_IOC_WR_MODE) return *(unsigned char *)argument == SPI_MODE_0 ? 0 : refuse(EINVAL);
    if (what == SPI && (request == SPI_IOC_WR_BITS_PER_WORD || request == SPI_IOC_WR_MAX_SPEED_HZ)) return 0;
    if (what != NONE) return refuse(ENOTTY);
    static int (*real)(int, unsigned long, ...);
    if (!real) real = (int (*)(int, unsigned long, ...))dlsym(RTLD_NEXT, "ioctl");
    return real(file, request, argument);
}
