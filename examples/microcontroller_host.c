/* The firmware as a program of this computer: states come on standard input, torques go to standard output. The bus is
 * the two pipes of a simulated board, whose file descriptors are the program's arguments. */
#include "microcontroller.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int to_board, from_board;
static uint32_t bytes;

static int all_written(const void *data, size_t size)
{
    const char *next = data;
    while (size) {
        const ssize_t n = write(to_board, next, size);
        if (n <= 0)
            return 0;
        next += n;
        size -= (size_t)n;
    }
    return 1;
}

int bus_transfer(void *context, const uint8_t *out, uint8_t *in, size_t count)
{
    const uint32_t size = (uint32_t)count;
    (void)context;
    bytes += size;
    if (!all_written(&size, sizeof size) || !all_written(out, count))
        return -100;
    while (count) {
        const ssize_t n = read(from_board, in, count);
        if (n <= 0)
            return -101;
        in += n;
        count -= (size_t)n;
    }
    return 0;
}

int main(int argc, char **argv)
{
    float state[3][6];
    struct {
        int32_t said;
        uint32_t bytes;
        float tau[6];
    } report = {0};
    if (argc != 3)
        return 2;
    to_board = atoi(argv[1]);
    from_board = atoi(argv[2]);
    report.said = controller_open();
    report.bytes = bytes;
    fwrite(&report, sizeof report, 1, stdout);
    while (!report.said && fread(state, sizeof state, 1, stdin) == 1) {
        bytes = 0;
        report.said = controller_tick(state[0], state[1], state[2], report.tau);
        report.bytes = bytes;
        fwrite(&report, sizeof report, 1, stdout);
    }
    return 0;
}
