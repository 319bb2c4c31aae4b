/* The host's end of the byte link: many tasks in flight, every one answered, sent again, or reported lost. The rules
 * are those of rbdgen/host/byte_link.py:
 *
 * - Tasks of one function are answered in their order, so that a result proves earlier ones lost.
 * - A hello is answered after all that came before it, and so proves the same of all functions.
 * - No task is sent unless the device has room for it.
 * - An exchange ends with the answer to a hello, whose epoch says whether the device was reset meanwhile.
 * - Only a task answered for good or a hello answered is progress, and time without progress is limited.
 */
#include "rbdgen_internal.h"

/* An exchange over bytes. */
typedef struct {
    rbd_exchange *x;
    uint32_t serial, room;
    int confirmed; /* whether a status came after the last result */
} talk;

static uint32_t cost_of(const talk *t, size_t task)
{
    return (uint32_t)(t->x->job->size(t->x->job, task) + RBD_FRAME_BYTES);
}

/* The first task of a function is no longer in flight; its tag. */
static uint8_t land_first(talk *t, unsigned code)
{
    rbd_device *device = t->x->device;
    const uint16_t tag = device->head[code];
    rbd_flight *flight = &device->flights[tag];
    device->head[code] = flight->next;
    flight->busy = RBD_LANDED;
    device->flying--;
    t->room += flight->cost;
    return (uint8_t)tag;
}

/* Whether there is such a task and it was sent before. Numbers begin again at 2^32. */
static int is_before(const rbd_device *device, uint16_t tag, uint32_t before)
{
    return tag != RBD_NO_TAG && (uint32_t)(before - device->flights[tag].serial - 1u) < 0x80000000u;
}

/* What was sent before the hello and is not answered is lost. */
static int take_status(talk *t, uint32_t before)
{
    rbd_exchange *x = t->x;
    rbd_device *device = x->device;
    if (x->epoch && *x->epoch != device->epoch)
        return RBD_WAS_RESET;
    rbd_internal_progress(x);
    t->confirmed = 1;
    for (unsigned code = 0; code < RBD_CODES; code++)
        while (is_before(device, device->head[code], before))
            rbd_internal_lost(x, land_first(t, code));
    return RBD_OK;
}

static int take(talk *t, unsigned kind, const unsigned char *payload, size_t length)
{
    rbd_exchange *x = t->x;
    rbd_device *device = x->device;
    unsigned code = 0, tag = 0, flags;
    if (kind == RBD_KIND_HELLO) {
        uint32_t before;
        const int taken = rbd_internal_accept(device, payload, length, &before);
        return taken > 0 ? take_status(t, before) : -taken;
    }
    if (kind == RBD_KIND_TASK && length >= 2)
        rbd_internal_header(payload, &code, &tag, &flags);
    const rbd_flight *flight = &device->flights[tag];
    if (kind != RBD_KIND_TASK || length < 2 || !flight->busy || flight->code != code) {
        device->counters.stray++;
        return RBD_OK;
    }
    while (device->head[code] != tag)
        rbd_internal_lost(x, land_first(t, code));
    rbd_internal_free_tag(device, land_first(t, code));
    x->job->answer(x->job, flight->task, payload, length);
    t->confirmed = 0;
    rbd_internal_finish(x);
    return RBD_OK;
}

/* Puts the next task in flight, behind those of its function. */
static int send_task(talk *t, uint32_t cost)
{
    rbd_device *device = t->x->device;
    const uint8_t tag = rbd_internal_depart(t->x, t->serial++, cost);
    rbd_flight *flight = &device->flights[tag];
    const unsigned code = flight->code;
    flight->next = RBD_NO_TAG;
    if (device->head[code] == RBD_NO_TAG)
        device->head[code] = tag;
    else
        device->flights[device->tail[code]].next = tag;
    device->tail[code] = tag;
    t->room -= cost;
    return rbd_internal_send(device, RBD_KIND_TASK, device->packet, cost - RBD_FRAME_BYTES);
}

/* Puts as much among what is to be sent as the device has room for, first what was lost. */
static int send_tasks(talk *t)
{
    rbd_device *device = t->x->device;
    size_t task;
    while (rbd_internal_upcoming(t->x, 0, &task)) {
        const uint32_t cost = cost_of(t, task);
        if (cost > t->room && !device->flying)
            return rbd_internal_no_room(device, t->room, cost);
        if (cost > t->room)
            break;
        const int status = send_task(t, cost);
        if (status != RBD_OK)
            return status;
    }
    return RBD_OK;
}

static int ask_again(talk *t)
{
    rbd_device *device = t->x->device;
    t->x->quiet = rbd_internal_now(device) + device->limits.quiet;
    return rbd_internal_ask(device, t->serial);
}

/* Asks again after silence; an error where there was no progress for too long. */
static int keep_time(talk *t, int silence)
{
    rbd_exchange *x = t->x;
    const rbd_limits *limits = &x->device->limits;
    const uint64_t now = rbd_internal_now(x->device);
    int status = RBD_OK;
    if (silence || now >= x->quiet) {
        x->silent++;
        if (x->silent <= limits->patience)
            status = ask_again(t);
    }
    const int stuck = x->done < x->job->count && now >= x->task_progress;
    if (status == RBD_OK && (stuck || x->silent > limits->patience || now >= x->any_progress))
        status = rbd_internal_failure(x);
    return status;
}

/* Sends what there is room for, and takes what comes. */
static int step(talk *t)
{
    rbd_exchange *x = t->x;
    rbd_device *device = x->device;
    const unsigned char *payload;
    unsigned kind;
    size_t length;
    int status = send_tasks(t);
    if (status == RBD_OK && x->next == x->job->count && !device->again_count && !device->asked_count)
        status = ask_again(t);
    if (status == RBD_OK)
        status = rbd_internal_flush(device);
    if (status != RBD_OK)
        return status;
    int found = rbd_internal_next_frame(device, 1, x->quiet, &kind, &payload, &length);
    const int silence = found == 0;
    while (found == 1 && status == RBD_OK) {
        status = take(t, kind, payload, length);
        if (status == RBD_OK)
            found = rbd_internal_next_frame(device, 0, 0, &kind, &payload, &length);
    }
    if (found < 0)
        return -found;
    return status == RBD_OK ? keep_time(t, silence) : status;
}

int rbd_internal_byte_exchange(rbd_exchange *x)
{
    rbd_device *device = x->device;
    talk t = {x, 0, device->room, x->job->count == 0};
    int status = RBD_OK;
    /* nothing is in flight: what the last call left there was asked for by a hello */
    for (unsigned k = 0; k < RBD_TAGS; k++)
        device->flights[k].busy = RBD_LANDED;
    for (unsigned k = 0; k < RBD_CODES; k++)
        device->head[k] = RBD_NO_TAG;
    device->asked_begin = device->asked_count = 0;
    rbd_internal_start(x);
    device->amid = 1;
    while (status == RBD_OK && (x->done < x->job->count || !t.confirmed))
        status = step(&t);
    device->first_tag = (device->first_tag + t.serial) % RBD_TAGS;
    device->amid = status != RBD_OK;
    return status;
}
