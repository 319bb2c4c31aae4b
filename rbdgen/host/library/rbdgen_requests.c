/* Requests: their tasks exchanged for results, and what is to be said of those that were flagged or lost. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rbdgen_internal.h"

/* Tasks of all requests in a row. */
typedef struct {
    rbd_job job;
    rbd_device *device;
    const rbd_request *requests;
    size_t requests_count, tasks;
    size_t lost, first_lost, outside, overflown, first_flagged;
} solving;

/* The request of a task, and its state there. */
static const rbd_request *request_of(const solving *s, size_t *task)
{
    const rbd_request *request = s->requests;
    while (*task >= request->count)
        *task -= request++->count;
    return request;
}

static const rbd_function *function_of(const solving *s, const rbd_request *request)
{
    return &s->device->design->function[request->function];
}

/* Of a task that is not answered. */
static void write_nothing(const solving *s, const rbd_request *request, size_t state)
{
    const rbd_function *function = function_of(s, request);
    for (size_t k = 0; k < function->result_vectors; k++) {
        const size_t size = function->gives[k].size;
        for (size_t entry = 0; entry < size; entry++)
            request->results[k][state * size + entry] = nan("");
    }
    if (request->flags)
        request->flags[state] = RBD_FLAG_LOST;
}

static void solve_begin(rbd_job *job)
{
    solving *s = (solving *)job;
    s->lost = s->outside = s->overflown = 0;
    s->first_lost = s->first_flagged = (size_t)-1;
}

static size_t solve_size(const rbd_job *job, size_t task)
{
    const solving *s = (const solving *)job;
    return function_of(s, request_of(s, &task))->task_bytes;
}

static void solve_pack(const rbd_job *job, size_t task, unsigned char *packet)
{
    const solving *s = (const solving *)job;
    const rbd_request *request = request_of(s, &task);
    rbd_internal_pack(s->device->design, function_of(s, request), request->operands, task, packet);
}

static void note_flags(solving *s, size_t task, unsigned flags)
{
    s->outside += (flags & RBD_FLAG_RANGE) != 0;
    s->overflown += (flags & RBD_FLAG_OVERFLOW) != 0;
    if (flags && task < s->first_flagged)
        s->first_flagged = task;
}

static void solve_lose(rbd_job *job, size_t task)
{
    solving *s = (solving *)job;
    s->lost++;
    if (task < s->first_lost)
        s->first_lost = task;
    const rbd_request *request = request_of(s, &task);
    write_nothing(s, request, task);
}

static void solve_answer(rbd_job *job, size_t task, const unsigned char *packet, size_t length)
{
    solving *s = (solving *)job;
    const size_t number = task;
    const rbd_request *request = request_of(s, &task);
    const rbd_function *function = function_of(s, request);
    if (length != function->result_bytes) {
        solve_lose(job, number);
        return;
    }
    const unsigned flags = rbd_internal_unpack(s->device->design, function, packet, request->results, task);
    note_flags(s, number, flags);
    if (request->flags)
        request->flags[task] = (uint8_t)flags;
}

/* A request that software answers: its first task's number among all. */
typedef struct {
    solving *solving;
    size_t first;
} software_request;

static void tell_flags(void *context, size_t state, unsigned flags)
{
    const software_request *r = context;
    note_flags(r->solving, r->first + state, flags);
}

static void run_in_software(solving *s)
{
    software_request r = {s, 0};
    for (size_t k = 0; k < s->requests_count; k++) {
        rbd_internal_run_software(s->device, &s->requests[k], tell_flags, &r);
        r.first += s->requests[k].count;
    }
}

/* What a user should know of flagged tasks. */
static void note(solving *s)
{
    char outside[80] = "", overflown[80] = "";
    size_t task = s->first_flagged;
    const size_t used = strlen(s->device->note);
    if (s->first_flagged == (size_t)-1)
        return;
    const rbd_request *request = request_of(s, &task);
    if (s->outside)
        snprintf(outside, sizeof outside, " %lu with operands outside the declared ranges",
                 (unsigned long)s->outside);
    if (s->overflown)
        snprintf(overflown, sizeof overflown, "%s %lu with values that overflowed inside", s->outside ? " and" : "",
                 (unsigned long)s->overflown);
    snprintf(s->device->note + used, sizeof s->device->note - used,
             "%s%.80s: of %lu tasks%s%s; the first is number %lu, see its flags", used ? "; " : "",
             function_of(s, request)->name, (unsigned long)s->tasks, outside, overflown, (unsigned long)task);
}

static int tell_lost(const solving *s)
{
    static const rbd_counters NOTHING = {0};
    char measured[200];
    size_t task = s->first_lost;
    const rbd_request *request = request_of(s, &task);
    rbd_internal_measured(s->device, &NOTHING, measured, sizeof measured);
    return rbd_internal_fail(s->device, RBD_ERROR_LOST,
                             "device: %lu of %lu tasks of %.80s were lost %lu times each, the first is number %lu; "
                             "since the device was opened %s; %s",
                             (unsigned long)s->lost, (unsigned long)s->tasks, function_of(s, request)->name,
                             (unsigned long)s->device->limits.attempts, (unsigned long)task, measured,
                             rbd_internal_remedy(s->device));
}

static int run(rbd_device *device, const rbd_request *requests, size_t count)
{
    solving s = {{0, solve_begin, solve_size, solve_pack, solve_answer, solve_lose}, device, requests, count,
                 0, 0, 0, 0, 0, 0};
    int status = RBD_OK;
    for (size_t k = 0; k < count; k++)
        s.tasks += requests[k].count;
    s.job.count = s.tasks;
    solve_begin(&s.job);
    if (device->software)
        run_in_software(&s);
    else
        status = rbd_internal_held_exchange(device, &s.job);
    if (status != RBD_OK) {
        /* what was answered may be of a device that lost its parameters */
        for (size_t k = 0; k < count; k++)
            for (size_t state = 0; state < requests[k].count; state++)
                write_nothing(&s, &requests[k], state);
        return status;
    }
    note(&s);
    return s.lost ? tell_lost(&s) : RBD_OK;
}

static int solve(rbd_device *device, const rbd_design *design, const rbd_request *requests, size_t count)
{
    int status = rbd_internal_begin(device, design);
    if (status == RBD_OK && count && !requests)
        status = rbd_internal_fail(device, RBD_ERROR_ARGUMENT, "requests: must not be NULL; give an array of %lu",
                                   (unsigned long)count);
    for (size_t k = 0; k < count && status == RBD_OK; k++)
        status = rbd_internal_check_request(device, &requests[k]);
    if (status == RBD_OK)
        status = rbd_internal_check_apart(device, requests, count);
    return status == RBD_OK ? run(device, requests, count) : status;
}

int rbd_solve(rbd_device *device, const rbd_design *design, const rbd_request *requests, size_t count)
{
    int status = rbd_internal_enter(device);
    if (status != RBD_OK)
        return status;
    status = solve(device, design, requests, count);
    rbd_internal_leave(device);
    return status;
}

int rbd_call(rbd_device *device, const rbd_design *design, size_t function, size_t count,
             const double *const *operands, double *const *results, uint8_t *flags)
{
    const rbd_request request = {function, count, operands, results, flags};
    return rbd_solve(device, design, &request, 1);
}
