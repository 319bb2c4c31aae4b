/* The firmware of microcontroller.c, and what it needs of a board. */
#ifndef MICROCONTROLLER_H
#define MICROCONTROLLER_H

#include <stddef.h>
#include <stdint.h>

/* A transaction on the SPI bus: on a board its peripheral, here pipes to a simulation (microcontroller_host.c). */
int bus_transfer(void *context, const uint8_t *out, uint8_t *in, size_t count);

/* 0, or an error of rbdgen_embedded.h; a tick's flags as well. */
int controller_open(void);
int controller_tick(const float q[6], const float v[6], const float a[6], float tau[6]);

#endif
