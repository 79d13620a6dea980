/* What a kernel with a GPIO chip and an SPI controller answers, preloaded into programs that have been built for such: the
 * system calls on /dev/gpiochip0 and /dev/spidev0.0 move the wires of a model board (wires.h).
 *
 *   BOARD_SHM   the board's shared memory
 *   BOARD_NODE  which node this process is: lines 10 + g are its OUT wires of group g, 20 + g its IN wires
 *
 * Refuses what a kernel refuses: lines that are in use, unknown flags, values of inputs, words that are too long. */
#define _GNU_SOURCE
#include "wires.h"

#include <dlfcn.h>
#include <linux/spi/spidev.h>
#include <stdarg.h>

enum { FILES = 1024, NONE = 0, CHIP, SPI, LINE };
static struct { int what, output; unsigned offset; } files[FILES];
static struct board *board;
static int node;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("BOARD_SHM"), *number = getenv("BOARD_NODE");
    if (name && !(board = board_map(name, 0))) perror(name), _exit(1);
    if (number) node = atoi(number);
}

static int fresh(int what) {
    static int (*real)(const char *, int, ...);
    if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    int file = real("/dev/null", O_RDWR | O_CLOEXEC);
    if (file >= 0 && file < FILES) files[file].what = what;
    return file;
}
static int refuse(int error) { return errno = error, -1; }

static int open_file(const char *path, int flags, mode_t mode) {
    static int (*real)(const char *, int, ...);
    if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    if (board && strcmp(path, "/dev/gpiochip0") == 0) return fresh(CHIP);
    if (board && strcmp(path, "/dev/spidev0.0") == 0) return fresh(SPI);
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

static void wait_clocks(uint32_t count) {
    uint32_t begin = hlb_load(&board->clocks.value);
    for (uint64_t since = hlb_now_ns(); hlb_load(&board->clocks.value) - begin < count; sched_yield())
        if (hlb_now_ns() - since > 10000000000u) fprintf(stderr, "kernel: the board stands still\n"), _exit(1);
}
static void set(struct hlb_word *wire, unsigned level) { __atomic_store_n(&wire->value, level & 1u, __ATOMIC_RELEASE); }

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

static struct hlb_word *wire(unsigned offset) {
    if (offset >= 10 && offset < 10 + BOARD_GROUPS) return &board->out[offset - 10][node];
    if (offset >= 20 && offset < 20 + BOARD_GROUPS) return &board->in[offset - 20];
    return NULL;
}

static int take_line(struct gpio_v2_line_request *r) {
    int output = r->config.flags == GPIO_V2_LINE_FLAG_OUTPUT;
    unsigned offset = r->offsets[0];
    if (r->num_lines != 1 || !wire(offset) || (!output && r->config.flags != GPIO_V2_LINE_FLAG_INPUT)) return refuse(EINVAL);
    for (int k = 0; k < FILES; k++)
        if (files[k].what == LINE && files[k].offset == offset) return refuse(EBUSY);
    if (output && offset >= 20) return refuse(EPERM); /* an input-only line */
    if ((r->fd = fresh(LINE)) < 0) return -1;
    files[r->fd].output = output;
    files[r->fd].offset = offset;
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
