/* The wires between models and their users, in shared memory. A model board (board.cpp, the compiled RTL of
 * hb_board) serves users of a GPIO chip and an SPI controller (kernel.c). A model card (card.cpp) serves users that map
 * it. */
#ifndef BOARD_WIRES_H
#define BOARD_WIRES_H

#include "../hotlink_wires.h"

#include <sys/mman.h>

enum { BOARD_PORTS = 4, BOARD_GROUPS = 2 };

struct board {
    struct hlb_word clocks;                          /* of the board */
    struct hlb_word cs_n, sck, mosi, miso;           /* SPI */
    struct hlb_word out[BOARD_GROUPS][BOARD_PORTS];  /* each node's OUT wires */
    struct hlb_word in[BOARD_GROUPS];                /* IN, wired to all nodes */
};

enum { CARD_FIRST = 12, CARD_WORDS = HLB_CARD_BYTES / 4 }; /* the first of its four ports on the bus */
#define CARD_TAKEN 0x80000000u /* in GROUP and IRQ_ENABLE: the card has seen what was written */

struct card {
    uint32_t registers[CARD_WORDS];                  /* what programs map: the card looks into it all the time */
    struct hlb_word irq;                             /* the card's interrupt line */
    struct hlb_word turns;                           /* how often it has looked into the registers */
};

static inline void *model_map(const char *name, size_t bytes, int create) {
    int file = shm_open(name, O_RDWR | (create ? O_CREAT | O_EXCL : 0), 0600);
    if (file < 0 || (create && ftruncate(file, (off_t)bytes) != 0)) return NULL;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory == MAP_FAILED ? NULL : memory;
}
static inline struct board *board_map(const char *name, int create) {
    return (struct board *)model_map(name, sizeof(struct board), create);
}
static inline struct card *card_map(const char *name, int create) {
    return (struct card *)model_map(name, sizeof(struct card), create);
}

#endif
