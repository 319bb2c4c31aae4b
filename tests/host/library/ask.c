/* Asks a device what it is told to on the standard input, and writes what it is answered.
 *
 * ask tcp|udp|serial HOST|PATH SERVICE|BAUD ATTEMPTS PATIENCE QUIET PROGRESS
 *
 * Everything is binary and native. A call is 'c', the number of requests, and of each its function, count and
 * operands; a calibration is 'p', the number of parameters, and of each its value and its name's length and
 * characters. The answer is status, message and note, and of each request flags and results. First comes what opening
 * gave. All memory is of its own and just large enough, so that a sanitizer sees what goes beyond. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include HEADER
#include "rbdgen_transport_posix.h"

static void *exactly(size_t size)
{
    void *memory = malloc(size ? size : 1);
    if (!memory)
        abort();
    return memory;
}

static int take(void *data, size_t size)
{
    return fread(data, 1, size, stdin) == size;
}

static void give(const void *data, size_t size)
{
    if (size && fwrite(data, 1, size, stdout) != size)
        abort();
}

static uint32_t take_number(void)
{
    uint32_t number = 0;
    if (!take(&number, sizeof number))
        abort();
    return number;
}

static void give_text(const char *text)
{
    const uint32_t length = (uint32_t)strlen(text);
    give(&length, sizeof length);
    give(text, length);
}

static void give_status(const rbd_device *device, int status)
{
    const int32_t code = status;
    give(&code, sizeof code);
    give_text(status == RBD_OK ? "" : rbd_message(device));
    give_text(rbd_note(device));
}

static size_t bytes_of(const rbd_vector *vector, size_t count)
{
    return vector->size * count * sizeof(double);
}

static rbd_request take_request(void)
{
    rbd_request request;
    request.function = take_number();
    request.count = take_number();
    const rbd_function *function = &DESIGN.function[request.function];
    double **operands = exactly(function->operand_vectors * sizeof *operands);
    double **results = exactly(function->result_vectors * sizeof *results);
    for (size_t k = 0; k < function->operand_vectors; k++) {
        operands[k] = exactly(bytes_of(&function->takes[k], request.count));
        if (!take(operands[k], bytes_of(&function->takes[k], request.count)))
            abort();
    }
    for (size_t k = 0; k < function->result_vectors; k++)
        results[k] = exactly(bytes_of(&function->gives[k], request.count));
    request.flags = exactly(request.count);
    request.operands = (const double *const *)operands;
    request.results = results;
    return request;
}

static void give_results(const rbd_request *request, int status)
{
    const rbd_function *function = &DESIGN.function[request->function];
    const int whole = status != RBD_ERROR_ARGUMENT && status != RBD_ERROR_CLOSED;
    if (whole)
        give(request->flags, request->count);
    for (size_t k = 0; k < function->operand_vectors; k++)
        free((void *)request->operands[k]);
    for (size_t k = 0; k < function->result_vectors; k++) {
        if (whole)
            give(request->results[k], bytes_of(&function->gives[k], request->count));
        free(request->results[k]);
    }
    free((void *)request->operands);
    free((void *)request->results);
    free(request->flags);
}

static void call(rbd_device *device)
{
    const size_t count = take_number();
    rbd_request *requests = exactly(count * sizeof *requests);
    for (size_t k = 0; k < count; k++)
        requests[k] = take_request();
    const int status = rbd_solve(device, &DESIGN, requests, count);
    give_status(device, status);
    for (size_t k = 0; k < count; k++)
        give_results(&requests[k], status);
    free(requests);
}

static void calibrate(rbd_device *device)
{
    const size_t count = take_number();
    char **names = exactly(count * sizeof *names);
    double *values = exactly(count * sizeof *values);
    for (size_t k = 0; k < count; k++) {
        if (!take(&values[k], sizeof *values))
            abort();
        const size_t length = take_number();
        names[k] = exactly(length + 1);
        if (!take(names[k], length))
            abort();
        names[k][length] = 0;
    }
    give_status(device, rbd_calibrate(device, &DESIGN, count, (const char *const *)names, values));
    for (size_t k = 0; k < count; k++)
        free(names[k]);
    free(names);
    free(values);
}

static uint32_t number(const char *text)
{
    return (uint32_t)strtoul(text, NULL, 10);
}

int main(int count, char **words)
{
    rbd_port port;
    rbd_transport transport;
    char kind;
    if (count != 8)
        return 2;
    const rbd_limits limits = {number(words[4]), number(words[5]), number(words[6]), number(words[7]), 1000};
    const int serial = strcmp(words[1], "serial") == 0, udp = strcmp(words[1], "udp") == 0;
    int status = serial ? rbd_open_serial(&port, &transport, words[2], number(words[3]))
                 : udp  ? rbd_open_udp(&port, &transport, words[2], words[3])
                        : rbd_open_tcp(&port, &transport, words[2], words[3]);
    if (status != RBD_OK) {
        fprintf(stderr, "%s\n", port.message);
        return 1;
    }
    rbd_device *device = exactly(sizeof *device);
    const size_t size = rbd_workspace_bytes(&DESIGN);
    unsigned char *workspace = exactly(size);
    status = rbd_open(device, &DESIGN, &transport, workspace, size, &limits);
    give_status(device, status);
    fflush(stdout);
    while (status == RBD_OK && take(&kind, 1)) {
        if (kind == 'c')
            call(device);
        else
            calibrate(device);
        fflush(stdout);
    }
    rbd_close(device);
    free(workspace);
    free(device);
    return 0;
}
