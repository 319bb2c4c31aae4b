/* The host's end of the byte link: many tasks in flight, every one answered, sent again, or reported lost. The rules
 * are those of rbdgen/host/link.py:
 *
 * - Tasks of one function are answered in their order, so that a result proves earlier ones lost.
 * - A hello is answered after all that came before it, and so proves the same of all functions.
 * - No task is sent unless the device has room for it.
 * - An exchange ends with the answer to a hello, whose epoch says whether the device was reset meanwhile.
 * - Only a task answered for good or a hello answered is progress, and time without progress is limited.
 */
#include "rbdgen_internal.h"

#define HELLOS_ONLY 3 /* times as long as without any progress it may take that hellos are answered, but no task is */
#define BAD_PERCENT 5 /* of tasks lost, or frames damaged: from there on a failure is the line's */

/* One exchange. */
typedef struct {
    rbd_device *device;
    rbd_job *job;
    const uint32_t *epoch;
    size_t next, done;
    uint64_t quiet, any_progress, task_progress;
    uint32_t serial, room, silent;
    int confirmed;
    rbd_counters before;
} exchange;

static void progress(exchange *x)
{
    const rbd_device *device = x->device;
    const uint64_t now = rbd_internal_now(device);
    x->silent = 0;
    x->quiet = now + device->limits.quiet;
    x->any_progress = now + device->limits.progress;
}

/* A task is answered, or lost, for good. */
static void finish(exchange *x)
{
    x->done++;
    progress(x);
    x->task_progress = rbd_internal_now(x->device) + HELLOS_ONLY * (uint64_t)x->device->limits.progress;
}

static uint32_t cost_of(const exchange *x, size_t task)
{
    return (uint32_t)(x->job->size(x->job, task) + RBD_FRAME_BYTES);
}

/* The first task of a function is no longer in flight; its tag. */
static uint8_t land_first(exchange *x, unsigned code)
{
    rbd_device *device = x->device;
    const uint16_t tag = device->head[code];
    rbd_flight *flight = &device->flights[tag];
    device->head[code] = flight->next;
    flight->busy = 0;
    device->flying--;
    x->room += cost_of(x, flight->task);
    return (uint8_t)tag;
}

static void free_tag(rbd_device *device, uint8_t tag)
{
    device->tags[(device->tags_begin + device->tags_count++) % RBD_TAGS] = tag;
}

/* What is lost for sure will not be answered any more: it may be sent again with its tag at once. */
static void lose_first(exchange *x, unsigned code)
{
    rbd_device *device = x->device;
    const uint8_t tag = land_first(x, code);
    const rbd_flight *flight = &device->flights[tag];
    device->counters.lost++;
    if (flight->tries < device->limits.attempts) {
        device->again[(device->again_begin + device->again_count++) % RBD_TAGS] = tag;
        return;
    }
    free_tag(device, tag);
    x->job->lose(x->job, flight->task);
    finish(x);
}

/* Whether there is such a task and it was sent before. Numbers begin again at 2^32. */
static int is_before(const rbd_device *device, uint16_t tag, uint32_t before)
{
    return tag != RBD_NO_TAG && (uint32_t)(before - device->flights[tag].serial - 1u) < 0x80000000u;
}

/* What was sent before the hello and is not answered is lost. */
static int take_status(exchange *x, uint32_t before)
{
    rbd_device *device = x->device;
    if (x->epoch && *x->epoch != device->epoch)
        return RBD_WAS_RESET;
    progress(x);
    x->confirmed = 1;
    for (unsigned code = 0; code < RBD_CODES; code++)
        while (is_before(device, device->head[code], before))
            lose_first(x, code);
    return RBD_OK;
}

static int take(exchange *x, unsigned kind, const unsigned char *payload, size_t length)
{
    rbd_device *device = x->device;
    unsigned code = 0, tag = 0, flags;
    if (kind == RBD_KIND_HELLO) {
        uint32_t before;
        const int taken = rbd_internal_accept(device, payload, length, &before);
        return taken > 0 ? take_status(x, before) : -taken;
    }
    if (kind == RBD_KIND_TASK && length >= 2)
        rbd_internal_header(payload, &code, &tag, &flags);
    const rbd_flight *flight = &device->flights[tag];
    if (kind != RBD_KIND_TASK || length < 2 || !flight->busy || flight->code != code) {
        device->counters.stray++;
        return RBD_OK;
    }
    while (device->head[code] != tag)
        lose_first(x, code);
    free_tag(device, land_first(x, code));
    x->job->answer(x->job, flight->task, payload, length);
    x->confirmed = 0;
    finish(x);
    return RBD_OK;
}

/* Puts the task of a tag in flight. */
static int send_task(exchange *x, uint8_t tag)
{
    rbd_device *device = x->device;
    rbd_flight *flight = &device->flights[tag];
    unsigned code, old, flags;
    x->job->pack(x->job, flight->task, device->packet);
    rbd_internal_set_tag(device->packet, tag);
    rbd_internal_header(device->packet, &code, &old, &flags);
    flight->serial = x->serial++;
    flight->tries++;
    flight->next = RBD_NO_TAG;
    flight->code = (uint8_t)code;
    flight->busy = 1;
    if (device->head[code] == RBD_NO_TAG)
        device->head[code] = tag;
    else
        device->flights[device->tail[code]].next = tag;
    device->tail[code] = tag;
    device->flying++;
    device->counters.sent++;
    x->room -= cost_of(x, flight->task);
    return rbd_internal_send(device, RBD_KIND_TASK, device->packet, x->job->size(x->job, flight->task));
}

/* The tag of the next task to be sent: one that was lost, or a new one with the tag that was free for longest. */
static uint8_t next_tag(exchange *x)
{
    rbd_device *device = x->device;
    uint8_t tag;
    if (device->again_count) {
        tag = device->again[device->again_begin];
        device->again_begin = (device->again_begin + 1) % RBD_TAGS;
        device->again_count--;
        return tag;
    }
    tag = device->tags[device->tags_begin];
    device->tags_begin = (device->tags_begin + 1) % RBD_TAGS;
    device->tags_count--;
    device->flights[tag].task = x->next++;
    device->flights[tag].tries = 0;
    return tag;
}

/* Puts as much among what is to be sent as the device has room for, first what was lost. */
static int send_tasks(exchange *x)
{
    rbd_device *device = x->device;
    while (device->again_count || (x->next < x->job->count && device->tags_count)) {
        const uint8_t lost = device->again[device->again_begin];
        const uint32_t cost = cost_of(x, device->again_count ? device->flights[lost].task : x->next);
        if (cost > x->room && !device->flying)
            return rbd_internal_fail(device, RBD_ERROR_ROOM,
                                     "device: has room for %lu bytes, a task needs %lu; build its bitstream again",
                                     (unsigned long)x->room, (unsigned long)cost);
        if (cost > x->room)
            break;
        const int status = send_task(x, next_tag(x));
        if (status != RBD_OK)
            return status;
    }
    return RBD_OK;
}

static int failure(exchange *x)
{
    rbd_device *device = x->device;
    rbd_counters change;
    char measured[200];
    rbd_internal_since(device, &x->before, &change);
    const int damaged = 100 * change.damaged > BAD_PERCENT * (change.damaged + change.whole);
    if (damaged || 100 * change.lost > BAD_PERCENT * change.sent) {
        rbd_internal_measured(device, &x->before, measured, sizeof measured);
        return rbd_internal_fail(device, RBD_ERROR_LINE,
                                 "device: the line is too bad: after %lu of %lu tasks %s; check the cable, or lower "
                                 "the baud rate",
                                 (unsigned long)x->done, (unsigned long)x->job->count, measured);
    }
    return rbd_internal_fail(device, RBD_ERROR_SILENT,
                             "device: silent after %lu of %lu tasks, %lu hellos in a row; check the cable and reset "
                             "the board",
                             (unsigned long)x->done, (unsigned long)x->job->count, (unsigned long)x->silent);
}

static int ask_again(exchange *x)
{
    x->quiet = rbd_internal_now(x->device) + x->device->limits.quiet;
    return rbd_internal_ask(x->device, x->serial);
}

/* Asks again after silence; an error where there was no progress for too long. */
static int keep_time(exchange *x, int silence)
{
    const uint64_t now = rbd_internal_now(x->device);
    int status = RBD_OK;
    if (silence || now >= x->quiet) {
        x->silent++;
        if (x->silent <= x->device->limits.patience)
            status = ask_again(x);
    }
    const int stuck = x->done < x->job->count && now >= x->task_progress;
    if (status == RBD_OK && (stuck || x->silent > x->device->limits.patience || now >= x->any_progress))
        status = failure(x);
    return status;
}

/* Sends what there is room for, and takes what comes. */
static int step(exchange *x)
{
    rbd_device *device = x->device;
    const unsigned char *payload;
    unsigned kind;
    size_t length;
    int status = send_tasks(x);
    if (status == RBD_OK && x->next == x->job->count && !device->again_count && !device->asked_count)
        status = ask_again(x);
    if (status == RBD_OK)
        status = rbd_internal_flush(device);
    if (status != RBD_OK)
        return status;
    int found = rbd_internal_next_frame(device, 1, x->quiet, &kind, &payload, &length);
    const int silence = found == 0;
    while (found == 1 && status == RBD_OK) {
        status = take(x, kind, payload, length);
        if (status == RBD_OK)
            found = rbd_internal_next_frame(device, 0, 0, &kind, &payload, &length);
    }
    if (found < 0)
        return -found;
    return status == RBD_OK ? keep_time(x, silence) : status;
}

/* Nothing is in flight. Tags go on where the last call ended, so that what comes twice, up to so many tasks late, is
 * not taken for an answer to this one. */
static void clear(rbd_device *device)
{
    for (unsigned k = 0; k < RBD_TAGS; k++) {
        device->tags[k] = (uint8_t)((device->first_tag + k) % RBD_TAGS);
        device->flights[k].busy = 0;
    }
    for (unsigned k = 0; k < RBD_CODES; k++)
        device->head[k] = RBD_NO_TAG;
    device->tags_begin = device->again_begin = device->asked_begin = 0;
    device->again_count = device->asked_count = device->flying = 0;
    device->tags_count = RBD_TAGS;
}

int rbd_internal_exchange(rbd_device *device, rbd_job *job, const uint32_t *epoch)
{
    int status = device->amid || !device->known ? rbd_internal_hello(device) : RBD_OK;
    if (status != RBD_OK)
        return status;
    exchange x = {0};
    x.device = device;
    x.job = job;
    x.epoch = epoch;
    x.room = device->room;
    x.before = device->counters;
    x.confirmed = job->count == 0;
    x.task_progress = rbd_internal_now(device) + HELLOS_ONLY * (uint64_t)device->limits.progress;
    progress(&x);
    clear(device);
    job->begin(job);
    device->amid = 1;
    while (status == RBD_OK && (x.done < job->count || !x.confirmed))
        status = step(&x);
    device->first_tag = (device->first_tag + x.serial) % RBD_TAGS;
    device->amid = status != RBD_OK;
    return status;
}
