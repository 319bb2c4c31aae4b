/* What exchanges over bytes and over datagrams share: tasks that wait, tags, what is lost, how long to wait, and what is
 * said where nothing came of waiting. */
#include <string.h>

#include "rbdgen_internal.h"

#define HELLOS_ONLY 3 /* times as long as without any progress it may take that hellos are answered, but no task is */
#define BAD_PERCENT 5 /* of tasks lost, or frames damaged: from there on a failure is the line's */

void rbd_internal_progress(rbd_exchange *x)
{
    const rbd_device *device = x->device;
    const uint64_t now = rbd_internal_now(device);
    x->silent = 0;
    x->quiet = now + device->limits.quiet;
    x->any_progress = now + device->limits.progress;
}

/* A task is answered, or lost, for good. */
void rbd_internal_finish(rbd_exchange *x)
{
    x->done++;
    rbd_internal_progress(x);
    x->task_progress = rbd_internal_now(x->device) + HELLOS_ONLY * (uint64_t)x->device->limits.progress;
}

/* Tags go on where the last call ended, so that what comes twice, up to so many tasks late, is not taken for an answer
 * to this one. */
void rbd_internal_start(rbd_exchange *x)
{
    rbd_device *device = x->device;
    x->before = device->counters;
    x->task_progress = rbd_internal_now(device) + HELLOS_ONLY * (uint64_t)device->limits.progress;
    rbd_internal_progress(x);
    device->tags_begin = device->tags_count = 0;
    device->again_begin = device->again_count = device->flying = 0;
    for (unsigned k = 0; k < RBD_TAGS; k++) {
        const uint8_t tag = (uint8_t)((device->first_tag + k) % RBD_TAGS);
        if (device->flights[tag].busy)
            device->flying++;
        else if (!device->transport.datagrams || tag != RBD_PROBE_TAG)
            rbd_internal_free_tag(device, tag);
    }
    x->job->begin(x->job);
}

void rbd_internal_free_tag(rbd_device *device, uint8_t tag)
{
    device->tags[(device->tags_begin + device->tags_count++) % RBD_TAGS] = tag;
}

/* First comes what was lost, with the tag that it had, then what is new. */
int rbd_internal_upcoming(const rbd_exchange *x, size_t later, size_t *task)
{
    const rbd_device *device = x->device;
    if (later < device->again_count) {
        *task = device->flights[device->again[(device->again_begin + later) % RBD_TAGS]].task;
        return 1;
    }
    later -= device->again_count;
    *task = x->next + later;
    return later < x->job->count - x->next && later < device->tags_count;
}

/* The tag of the next task: one that was lost, or a new one with the tag that was free for longest. */
static uint8_t next_tag(rbd_exchange *x)
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

uint8_t rbd_internal_depart(rbd_exchange *x, uint32_t serial, uint32_t cost)
{
    rbd_device *device = x->device;
    const uint8_t tag = next_tag(x);
    rbd_flight *flight = &device->flights[tag];
    unsigned code, old, flags;
    x->job->pack(x->job, flight->task, device->packet);
    rbd_internal_set_tag(device->packet, tag);
    rbd_internal_header(device->packet, &code, &old, &flags);
    flight->serial = serial;
    flight->cost = cost;
    flight->tries++;
    flight->code = (uint8_t)code;
    flight->busy = RBD_FLYING;
    device->flying++;
    device->counters.sent++;
    return tag;
}

/* What is lost for sure will not be answered any more: it may be sent again with its tag at once. */
void rbd_internal_lost(rbd_exchange *x, uint8_t tag)
{
    rbd_device *device = x->device;
    const rbd_flight *flight = &device->flights[tag];
    device->counters.lost++;
    if (flight->tries < device->limits.attempts) {
        device->again[(device->again_begin + device->again_count++) % RBD_TAGS] = tag;
        return;
    }
    rbd_internal_free_tag(device, tag);
    x->job->lose(x->job, flight->task);
    rbd_internal_finish(x);
}

int rbd_internal_no_room(rbd_device *device, uint32_t room, uint32_t cost)
{
    return rbd_internal_fail(device, RBD_ERROR_ROOM,
                             "device: has room for %lu bytes, a task needs %lu; build its bitstream again",
                             (unsigned long)room, (unsigned long)cost);
}

int rbd_internal_failure(rbd_exchange *x)
{
    rbd_device *device = x->device;
    rbd_counters change;
    char measured[200];
    rbd_internal_since(device, &x->before, &change);
    const int damaged = 100 * change.damaged > BAD_PERCENT * (change.damaged + change.whole);
    if (damaged || 100 * change.lost > BAD_PERCENT * change.sent) {
        rbd_internal_measured(device, &x->before, measured, sizeof measured);
        return rbd_internal_fail(device, RBD_ERROR_LINE,
                                 "device: the line is too bad: after %lu of %lu tasks %s; %s",
                                 (unsigned long)x->done, (unsigned long)x->job->count, measured,
                                 rbd_internal_remedy(device));
    }
    return rbd_internal_fail(device, RBD_ERROR_SILENT,
                             "device: silent after %lu of %lu tasks, %lu hellos in a row; check the cable and reset "
                             "the board",
                             (unsigned long)x->done, (unsigned long)x->job->count, (unsigned long)x->silent);
}

int rbd_internal_meet(rbd_device *device)
{
    if (device->transport.datagrams)
        return device->known ? RBD_OK : rbd_internal_open_session(device);
    return device->amid || !device->known ? rbd_internal_hello(device) : RBD_OK;
}

int rbd_internal_exchange(rbd_device *device, rbd_job *job, const uint32_t *epoch)
{
    rbd_exchange x = {0};
    const int status = rbd_internal_meet(device);
    if (status != RBD_OK)
        return status;
    x.device = device;
    x.job = job;
    x.epoch = epoch;
    return device->transport.datagrams ? rbd_internal_datagram_exchange(&x) : rbd_internal_byte_exchange(&x);
}
