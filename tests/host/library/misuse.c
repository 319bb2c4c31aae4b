/* What the library refuses, and software behind the same calls. Says what differs, and ends with that many failures. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include HEADER
#include "rbdgen_transport_posix.h"

#define PASTE(a, b) a##_##b
#define NAMED(a, b) PASTE(a, b)
#define CALL(function) NAMED(NAME, function)

static int failures;

static void expect_code(int line, int wanted, int got)
{
    if (got != wanted) {
        printf("line %d: %d (%s), not %d\n", line, got, rbd_status_text(got), wanted);
        failures++;
    }
}

static void expect_text(int line, const char *wanted, const char *got)
{
    if (strncmp(got, wanted, strlen(wanted)) != 0) {
        printf("line %d: \"%s\", not \"%s\"\n", line, got, wanted);
        failures++;
    }
}

#define CODE(wanted, got) expect_code(__LINE__, wanted, got)
#define TEXT(wanted, got) expect_text(__LINE__, wanted, got)
#define REFUSED(code, text, call)                                                                                      \
    do {                                                                                                               \
        CODE(code, call);                                                                                              \
        TEXT(text, rbd_message(&device));                                                                              \
    } while (0)

/* ---- Software: of two joints, tau = q + 2 v + 3 a, and a matrix of q ---- */

static void software_id(size_t count, const double *const *operands, double *const *results)
{
    for (size_t k = 0; k < 2 * count; k++)
        results[0][k] = operands[0][k] + 2 * operands[1][k] + 3 * operands[2][k];
}

static void software_m(size_t count, const double *const *operands, double *const *results)
{
    for (size_t k = 0; k < 4 * count; k++)
        results[0][k] = operands[0][k / 2] < 0 ? (double)NAN : (double)k;
}

static const rbd_software_function FUNCTIONS[] = {{"m", 1, 1, software_m}, {"id", 3, 1, software_id}};
static const rbd_software SOFTWARE = {"pendulum2", 2, FUNCTIONS};

static rbd_device device;
static int inner;

/* A call that meets another one. */
static void software_again(size_t count, const double *const *operands, double *const *results)
{
    double own[2];
    double *const given[] = {own};
    inner = rbd_call(&device, &DESIGN, 0, 1, operands, given, NULL);
    software_id(count, operands, results);
}
static unsigned char workspace[4096];

static void software(void)
{
    const double q[] = {0.5, 0.25, -0.5, 9.0}, v[] = {1, 2, 3, 4}, a[] = {1, 1, 1, 1};
    double tau[4], m[8];
    uint8_t flags[2] = {9, 9};
    CODE(RBD_OK, rbd_open_software(&device, &DESIGN, &SOFTWARE));
    CODE(RBD_OK, CALL(id)(&device, 2, q, v, a, tau, flags));
    for (size_t k = 0; k < 4; k++)
        CODE(1, tau[k] == q[k] + 2 * v[k] + 3 * a[k]);
    CODE(0, flags[0]);
    CODE(RBD_FLAG_RANGE, flags[1]);
    TEXT("id: of 2 tasks 1 with operands outside the declared ranges; the first is number 1, see", rbd_note(&device));
    CODE(RBD_OK, CALL(m)(&device, 2, q, m, flags));
    CODE(0, flags[0]);
    CODE(RBD_FLAG_RANGE | RBD_FLAG_OVERFLOW, flags[1]);
    CODE(RBD_OK, CALL(id)(&device, 1, q, v, a, tau, NULL));
    TEXT("", rbd_note(&device));

    const double *const operands[] = {q, v, a}, *const positions[] = {q};
    CODE(6, (int)rbd_outside(&DESIGN, 0, operands, 0, 0));
    CODE(1, (int)rbd_outside(&DESIGN, 0, operands, 1, 0));
    CODE(6, (int)rbd_outside(&DESIGN, 0, operands, 1, 2));
    const rbd_operand *word = &DESIGN.function[0].operands[1];
    CODE(1, word->vector == 0 && word->entry == 1 && rbd_value(word->upper, word->frac) < 9);
    double *const torques[] = {tau}, *const matrices[] = {m};
    const rbd_request both[] = {{0, 1, operands, torques, NULL}, {1, 2, positions, matrices, flags}};
    CODE(RBD_OK, rbd_solve(&device, &DESIGN, both, 2));
    TEXT("m: of 3 tasks 1 with operands outside", rbd_note(&device));
    CODE(RBD_OK, rbd_solve(&device, &DESIGN, NULL, 0));
    REFUSED(RBD_ERROR_ARGUMENT, "requests: must not be NULL; give an array of 1", rbd_solve(&device, &DESIGN, NULL, 1));

    const char *const names[] = {DESIGN.parameter[0].name, DESIGN.parameter[0].name, NULL};
    const double values[] = {0, NAN, 0};
    REFUSED(RBD_ERROR_PARAMETER, "parameter p_link1_hx: software has none", rbd_calibrate(&device, &DESIGN, 1, names, values));
    REFUSED(RBD_ERROR_ARGUMENT, "parameter p_link1_hx: must be finite, not", rbd_calibrate(&device, &DESIGN, 2, names, values));
    REFUSED(RBD_ERROR_ARGUMENT, "parameter p_link1_hx: is given twice", rbd_calibrate(&device, &DESIGN, 2, names, q));
    REFUSED(RBD_ERROR_ARGUMENT, "names[0]: must not be NULL", rbd_calibrate(&device, &DESIGN, 1, names + 2, q));
    REFUSED(RBD_ERROR_ARGUMENT, "values: must not be NULL; give an array of 1", rbd_calibrate(&device, &DESIGN, 1, names, NULL));
    CODE(RBD_OK, rbd_calibrate(&device, &DESIGN, 0, NULL, NULL));
    rbd_close(&device);
    rbd_close(&device);
}

static void one_call_at_a_time(void)
{
    const rbd_software_function functions[] = {{"m", 1, 1, software_m}, {"id", 3, 1, software_again}};
    const rbd_software again = {"pendulum2", 2, functions};
    const double q[] = {0, 0};
    double tau[2] = {9, 9};
    uint8_t flags = 9;
    CODE(RBD_OK, rbd_open_software(&device, &DESIGN, &again));
    for (int k = 0; k < 2; k++) {
        CODE(RBD_OK, CALL(id)(&device, 1, q, q, q, tau, &flags));
        CODE(RBD_ERROR_BUSY, inner);
        CODE(0, flags);
    }
    device.busy = 1;
    CODE(RBD_ERROR_BUSY, rbd_calibrate(&device, &DESIGN, 0, NULL, NULL));
    device.busy = 0;
    rbd_close(&device);
}

static void other_software(void)
{
    const rbd_software none = {"pendulum2", 1, FUNCTIONS}, other = {"iiwa14", 2, FUNCTIONS};
    const rbd_software_function narrow[] = {{"m", 1, 1, software_m}, {"id", 2, 1, software_id}};
    const rbd_software few = {"pendulum2", 2, narrow};
    REFUSED(RBD_ERROR_SOFTWARE, "software: has no function id, as design ", rbd_open_software(&device, &DESIGN, &none));
    REFUSED(RBD_ERROR_SOFTWARE, "software: is of robot iiwa14, not pendulum2;",
            rbd_open_software(&device, &DESIGN, &other));
    REFUSED(RBD_ERROR_SOFTWARE, "software: id has 2 operands and 1 results, not 3 and 1;",
            rbd_open_software(&device, &DESIGN, &few));
    REFUSED(RBD_ERROR_ARGUMENT, "software: must not be NULL", rbd_open_software(&device, &DESIGN, NULL));
    REFUSED(RBD_ERROR_ARGUMENT, "design: must not be NULL", rbd_open_software(&device, NULL, &SOFTWARE));
}

static void arguments(void)
{
    double q[] = {0, 0, 0, 0}, tau[4] = {0}, m[12] = {0};
    rbd_design other = DESIGN;
    CODE(RBD_OK, rbd_open_software(&device, &DESIGN, &SOFTWARE));
    REFUSED(RBD_ERROR_ARGUMENT, "v: must not be NULL; give 2 numbers for each state", CALL(id)(&device, 1, q, NULL, q, tau, NULL));
    REFUSED(RBD_ERROR_ARGUMENT, "tau: must not be NULL; give 2 numbers", CALL(id)(&device, 1, q, q, q, NULL, NULL));
    REFUSED(RBD_ERROR_ARGUMENT, "tau: must not overlap v, which", CALL(id)(&device, 2, tau, q, tau, q, NULL));
    REFUSED(RBD_ERROR_ARGUMENT, "m: must not overlap q, which", CALL(m)(&device, 2, m + 7, m, NULL));
    CODE(RBD_OK, CALL(m)(&device, 1, m + 4, m, NULL));
    REFUSED(RBD_ERROR_ARGUMENT, "count: ", CALL(m)(&device, (size_t)-1 / 8, q, m, NULL));
    REFUSED(RBD_ERROR_ARGUMENT, "function 2: design ", rbd_call(&device, &DESIGN, 2, 1, NULL, NULL, NULL));
    REFUSED(RBD_ERROR_ARGUMENT, "operands: must not be NULL", rbd_call(&device, &DESIGN, 1, 1, NULL, NULL, NULL));
    REFUSED(RBD_ERROR_ARGUMENT, "design: must not be NULL", rbd_call(&device, NULL, 1, 0, NULL, NULL, NULL));
    CODE(RBD_OK, CALL(m)(&device, 0, NULL, NULL, NULL));
    other.identity[0] ^= 1;
    REFUSED(RBD_ERROR_ARGUMENT, "design ", rbd_call(&device, &other, 1, 0, NULL, NULL, NULL));
    q[1] = INFINITY;
    REFUSED(RBD_ERROR_ARGUMENT, "q[1] of state 0: must be finite, not inf", CALL(m)(&device, 1, q, m, NULL));
    CODE(RBD_ERROR_ARGUMENT, CALL(m)(NULL, 1, q, m, NULL));
    CODE(RBD_ERROR_ARGUMENT, rbd_open_software(NULL, &DESIGN, &SOFTWARE));
    rbd_close(NULL);
    rbd_close(&device);
    REFUSED(RBD_ERROR_CLOSED, "device: is not open; open it first", CALL(m)(&device, 1, q, m, NULL));
    TEXT("device: must not be NULL", rbd_message(NULL));
    TEXT("", rbd_note(NULL));
    TEXT("no status of this library", rbd_status_text(99));
    TEXT("no status of this library", rbd_status_text(-1));
    TEXT("the software does not fit", rbd_status_text(RBD_ERROR_SOFTWARE));
    CODE(0, (int)rbd_workspace_bytes(NULL));
}

/* ---- A transport that fails ---- */

static int said, closed;
static uint64_t time_shown;

static ptrdiff_t fake_read(void *context, void *data, size_t size, uint32_t milliseconds)
{
    (void)data;
    (void)size;
    time_shown += milliseconds;
    return *(int *)context;
}

static int fake_write(void *context, const void *data, size_t size, uint32_t milliseconds)
{
    (void)context;
    (void)data;
    (void)size;
    (void)milliseconds;
    return said;
}

static void fake_close(void *context)
{
    (void)context;
    closed++;
}

static uint64_t fake_time(void *context)
{
    (void)context;
    return time_shown;
}

static void transports(void)
{
    int came = 0;
    const rbd_transport good = {&came, "fake", fake_read, fake_write, fake_close, fake_time, NULL, 0};
    const size_t size = rbd_workspace_bytes(&DESIGN);
    rbd_transport lacking = good;
    rbd_design newer = DESIGN;
    REFUSED(RBD_ERROR_SILENT, "device: no answer to 10 hellos; check", rbd_open(&device, &DESIGN, &good, workspace, size, NULL));
    CODE(1, closed);
    CODE(1, time_shown <= 10000);
    came = -1;
    REFUSED(RBD_ERROR_GONE, "fake: is gone; check", rbd_open(&device, &DESIGN, &good, workspace, size, NULL));
    came = RBD_CHUNK_BYTES + 1;
    REFUSED(RBD_ERROR_GONE, "fake: is gone; check", rbd_open(&device, &DESIGN, &good, workspace, size, NULL));
    said = RBD_ERROR_GONE;
    REFUSED(RBD_ERROR_GONE, "fake: is gone; check", rbd_open(&device, &DESIGN, &good, workspace, size, NULL));
    said = RBD_ERROR_STUCK;
    REFUSED(RBD_ERROR_STUCK, "fake: takes no bytes for 5 s; check", rbd_open(&device, &DESIGN, &good, workspace, size, NULL));
    CODE(5, closed);
    REFUSED(RBD_ERROR_ARGUMENT, "workspace: must have ", rbd_open(&device, &DESIGN, &good, workspace, size - 1, NULL));
    REFUSED(RBD_ERROR_ARGUMENT, "workspace: must have ", rbd_open(&device, &DESIGN, &good, NULL, size, NULL));
    REFUSED(RBD_ERROR_ARGUMENT, "design: must not be", rbd_open(&device, NULL, &good, workspace, size, NULL));
    REFUSED(RBD_ERROR_ARGUMENT, "transport: must not be", rbd_open(&device, &DESIGN, NULL, workspace, size, NULL));
    CODE(RBD_ERROR_ARGUMENT, rbd_open(NULL, &DESIGN, &good, workspace, size, NULL));
    CODE(9, closed);
    lacking.milliseconds = NULL;
    REFUSED(RBD_ERROR_ARGUMENT, "transport: must have its milliseconds;", rbd_open(&device, &DESIGN, &lacking, workspace, size, NULL));
    newer.version = 99;
    REFUSED(RBD_ERROR_ARGUMENT, "design ", rbd_open(&device, &newer, &good, workspace, size, NULL));
    CODE(RBD_ERROR_CLOSED, rbd_calibrate(&device, &DESIGN, 0, NULL, NULL));
}

static void ports(void)
{
    rbd_port port;
    rbd_transport transport;
    CODE(RBD_ERROR_PORT, rbd_open_serial(&port, &transport, "/nowhere", RBD_BAUD));
    TEXT("port /nowhere: there is no such port; plug the board in, or name its port", port.message);
    CODE(RBD_ERROR_PORT, rbd_open_serial(&port, &transport, "/dev/null", RBD_BAUD));
    TEXT("port /dev/null: is no serial port; name", port.message);
    CODE(RBD_ERROR_PORT, rbd_open_serial(&port, &transport, "/dev/null", 12345));
    TEXT("port /dev/null: this system has no such baud rate; give", port.message);
    CODE(RBD_ERROR_PORT, rbd_open_tcp(&port, &transport, "127.0.0.1", "1"));
    TEXT("tcp 127.0.0.1:1: cannot be connected to; check that", port.message);
    CODE(RBD_ERROR_ARGUMENT, rbd_open_tcp(&port, &transport, NULL, "1"));
    TEXT("tcp: a NULL was given; ", port.message);
    CODE(RBD_ERROR_ARGUMENT, rbd_open_serial(&port, NULL, "/dev/null", RBD_BAUD));
    CODE(RBD_ERROR_ARGUMENT, rbd_open_serial(NULL, &transport, "/dev/null", RBD_BAUD));
}

int main(void)
{
    software();
    one_call_at_a_time();
    other_software();
    arguments();
    transports();
    ports();
    return failures;
}
