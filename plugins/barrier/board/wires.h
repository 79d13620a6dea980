/* The wires between a model board (board.cpp, the compiled RTL of hb_board) and those who think that they have a GPIO chip
 * and an SPI controller (kernel.c): shared memory. */
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

static inline struct board *board_map(const char *name, int create) {
    int file = shm_open(name, O_RDWR | (create ? O_CREAT | O_EXCL : 0), 0600);
    if (file < 0 || (create && ftruncate(file, sizeof(struct board)) != 0)) return NULL;
    void *memory = mmap(NULL, sizeof(struct board), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory == MAP_FAILED ? NULL : (struct board *)memory;
}

#endif
