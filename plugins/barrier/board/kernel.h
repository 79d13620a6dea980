/* What kernel.c and port.c share: the model board of this process, and its wires as the hardware in front of it sees them. */
#ifndef BOARD_KERNEL_H
#define BOARD_KERNEL_H

#include "wires.h"

extern struct board *board; /* NULL: none */

/* The wire behind line `offset` of the GPIO chip; NULL: no such line. */
struct hlb_word *wire(unsigned offset);
/* Until the board has made that many clocks. */
void wait_clocks(uint32_t count);

static inline void set(struct hlb_word *of, unsigned level) { __atomic_store_n(&of->value, level & 1u, __ATOMIC_RELEASE); }
static inline unsigned level_of(const struct hlb_word *of) { return hlb_load(&of->value) & 1u; }
static inline int refuse(int error) { return errno = error, -1; }

enum { OUT_LINE = 10, IN_LINE = 20 }; /* of group 0; those of the next groups follow */

#endif
