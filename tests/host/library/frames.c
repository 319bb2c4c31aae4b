/* Finds frames in the standard input, and writes each one's kind and payload in hexadecimal, a line each; then how many
 * were damaged. */
#include <stdio.h>
#include <string.h>

#include HEADER
#include "rbdgen_internal.h"

static ptrdiff_t read_input(void *context, void *data, size_t size, uint32_t milliseconds)
{
    /* other pieces each time */
    size_t *turn = context;
    const size_t piece = 1 + (*turn)++ * 7919 % size, got = fread(data, 1, piece, stdin);
    (void)milliseconds;
    return got ? (ptrdiff_t)got : -1;
}

static uint64_t no_time(void *context)
{
    (void)context;
    return 0;
}

int main(void)
{
    static rbd_device device;
    static unsigned char frame[4096];
    size_t turn = 0, length;
    const unsigned char *payload;
    unsigned kind;
    const rbd_transport transport = {&turn, "input", read_input, NULL, NULL, no_time, NULL, 0};
    device.transport = transport;
    device.frame = frame;
    device.frame_size = DESIGN.longest_answer + RBD_FRAME_BYTES;
    while (rbd_internal_next_frame(&device, 1, 1, &kind, &payload, &length) == 1) {
        printf("%u ", kind);
        for (size_t k = 0; k < length; k++)
            printf("%02x", payload[k]);
        printf("\n");
    }
    printf("%lu %lu\n", (unsigned long)device.counters.damaged, (unsigned long)device.counters.whole);
    return 0;
}
