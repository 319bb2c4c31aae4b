/* The host's end of a link over datagrams. The rules are those of rbdgen/host/sessions.py:
 *
 * - A datagram of results is taken once, by its number, and a task is taken once by the device.
 * - A status proves that TASKS below its `taken` were taken before, or never will be. A hello that is sent when that is
 *   known is answered after all of those: what is not answered in results below its answer's `told` is lost. Results
 *   below that mark are dropped from then on.
 * - Where nothing else is there to be sent, a task of no function makes the device pass over what was lost last.
 *
 * A result that goes on in another datagram is taken where its parts come in order; else it counts as lost. */
#include <string.h>

#include "rbdgen_internal.h"

#define BEGINS 1u
#define ENDS 2u
#define BODY_BYTES (RBD_CHUNK_BYTES - RBD_DATAGRAM_OVERHEAD)
#define FIRST_QUIET 20u     /* ms */
#define ASK_EVERY (RBD_TAGS / 2)
#define MOST_ANSWERS 65536u /* bytes of results that may be on their way at once: a socket has room for them */

/* An exchange, and what is due in it. */
typedef struct {
    rbd_exchange *x;
    uint32_t interval; /* of silence */
    uint32_t unasked;  /* tasks that were sent since the last hello */
    uint32_t posted;   /* datagrams of tasks */
    int due, probed;   /* a hello is; whether a probe was sent since the last silence */
} talk;

static uint32_t words(size_t length)
{
    return (uint32_t)((length + 3) / 4 * 4);
}

/* Something of use came. */
static void calm(talk *t)
{
    rbd_device *device = t->x->device;
    t->interval = FIRST_QUIET < device->limits.quiet ? FIRST_QUIET : device->limits.quiet;
    t->x->quiet = rbd_internal_now(device) + t->interval;
}

/* Nothing came. */
static void wait_longer(talk *t)
{
    rbd_device *device = t->x->device;
    t->x->silent++;
    t->due = 1;
    t->probed = 0;
    t->interval = 2 * t->interval < device->limits.quiet ? 2 * t->interval : device->limits.quiet;
    t->x->quiet = rbd_internal_now(device) + t->interval;
}

static int32_t ahead(uint32_t number, uint32_t other)
{
    const uint32_t distance = number - other;
    return distance < 0x80000000u ? (int32_t)distance : -1 - (int32_t)~distance;
}

static int post(rbd_device *device, unsigned kind, uint32_t number, unsigned marks, size_t length)
{
    const rbd_datagram datagram = {kind, 0, marks, device->epoch, number, NULL, length};
    return rbd_internal_post(device, &datagram);
}

/* ---- What comes ---- */

static void land(rbd_device *device, uint8_t tag)
{
    rbd_flight *flight = &device->flights[tag];
    flight->busy = RBD_LANDED;
    device->flying--;
    device->left += flight->cost;
}

/* Bytes of a result's packet. */
static size_t length_of(const rbd_device *device, const unsigned char *packet)
{
    const rbd_design *design = device->design;
    const unsigned code = packet[0] & (RBD_CODES - 1u);
    for (size_t k = 0; k < design->functions; k++)
        if (design->function[k].code == code)
            return design->function[k].result_bytes;
    return (design->result.places[0] + 7u) / 8u;
}

static void answer(talk *t, const unsigned char *packet, size_t length)
{
    rbd_exchange *x = t->x;
    rbd_device *device = x->device;
    unsigned code, tag, flags;
    rbd_internal_header(packet, &code, &tag, &flags);
    const rbd_flight *flight = &device->flights[tag];
    if (flight->busy == RBD_LANDED || flight->code != code) {
        device->counters.stray += tag != RBD_PROBE_TAG;
        return;
    }
    const int waited_for = flight->busy == RBD_FLYING;
    land(device, (uint8_t)tag);
    rbd_internal_free_tag(device, (uint8_t)tag);
    if (waited_for) {
        x->job->answer(x->job, flight->task, packet, length);
        rbd_internal_finish(x);
    }
    calm(t);
}

/* Takes nothing below `told` any more. */
static void forget(rbd_device *device, uint32_t told)
{
    if (ahead(told, device->told) >= RBD_TAGS) {
        memset(device->came, 0, sizeof device->came);
        device->told = told;
    }
    while (ahead(told, device->told) > 0) {
        const uint32_t bit = device->told++ % RBD_TAGS;
        device->came[bit / 32] &= ~((uint32_t)1 << bit % 32);
    }
}

/* Whether a datagram of results comes for the first time. */
static int is_new(rbd_device *device, uint32_t number)
{
    if (ahead(number, device->told) < 0)
        return 0;
    if (ahead(number, device->told) >= RBD_TAGS)
        forget(device, number - RBD_TAGS + 1u);
    const uint32_t bit = number % RBD_TAGS, mask = (uint32_t)1 << bit % 32;
    if (device->came[bit / 32] & mask)
        return 0;
    device->came[bit / 32] |= mask;
    while (device->came[device->told % RBD_TAGS / 32] & (uint32_t)1 << device->told % 32)
        forget(device, device->told + 1u);
    return 1;
}

/* The bytes of a body that belong to the result that began in the datagram before; all of them where that is missing. */
static size_t take_part(talk *t, const rbd_datagram *d)
{
    rbd_device *device = t->x->device;
    if (!device->part_length || d->number != device->part_number)
        return d->length;
    const size_t length = length_of(device, device->frame);
    const size_t left = words(length) - device->part_length;
    const size_t part = left < d->length ? left : d->length;
    memcpy(device->frame + device->part_length, d->body, part);
    device->part_length += part;
    device->part_number++;
    if (part == left) {
        device->part_length = 0;
        answer(t, device->frame, length);
    }
    return part;
}

static void take_results(talk *t, const rbd_datagram *d)
{
    rbd_device *device = t->x->device;
    if (d->version != RBD_DATAGRAM_VERSION || d->session != device->epoch || !is_new(device, d->number)) {
        device->counters.stray++;
        return;
    }
    size_t at = d->marks & BEGINS ? 0 : take_part(t, d);
    while (at < d->length) {
        const unsigned char *packet = d->body + at;
        const size_t length = length_of(device, packet);
        if (at + words(length) > d->length) {
            device->part_length = d->length - at;
            device->part_number = d->number + 1u;
            memcpy(device->frame, packet, device->part_length);
            return;
        }
        answer(t, packet, length);
        at += words(length);
    }
}

/* What is in flight in datagrams below this one is lost; whether anything was. */
static int lose(talk *t, uint32_t below)
{
    rbd_device *device = t->x->device;
    int any = 0;
    for (unsigned tag = 0; tag < RBD_TAGS; tag++) {
        const int busy = device->flights[tag].busy;
        if (busy == RBD_LANDED || ahead(device->flights[tag].serial, below) >= 0)
            continue;
        any = 1;
        land(device, (uint8_t)tag);
        if (busy == RBD_FLYING)
            rbd_internal_lost(t->x, (uint8_t)tag);
        else
            rbd_internal_free_tag(device, (uint8_t)tag);
    }
    return any;
}

/* Whether a task is in flight in a datagram below this one. */
static int flies_below(const rbd_device *device, uint32_t number)
{
    for (unsigned tag = 0; tag < RBD_TAGS; tag++)
        if (device->flights[tag].busy != RBD_LANDED && ahead(device->flights[tag].serial, number) < 0)
            return 1;
    return 0;
}

static unsigned unknown_code(const rbd_design *design)
{
    unsigned code = RBD_CODES - 1;
    /* where programs come and go, no function ever has that of a parameter's task */
    if (design->program)
        return RBD_LOAD_CODE;
    for (size_t k = 0; k < design->functions; k++)
        if (design->function[k].code == code) {
            code -= code - 1 == RBD_LOAD_CODE ? 2 : 1;
            k = (size_t)-1;
        }
    return code;
}

/* Sends a task of no function: behind it the device expects nothing that was sent before. */
static int probe(rbd_device *device)
{
    unsigned char *body = device->out + RBD_DATAGRAM_HEAD;
    const uint32_t size = words((device->design->task.places[0] + 7u) / 8u);
    memset(body, 0, size);
    body[0] = (unsigned char)unknown_code(device->design);
    rbd_internal_set_tag(body, RBD_PROBE_TAG);
    return post(device, RBD_DATAGRAM_TASKS, device->sent++, BEGINS | ENDS, size);
}

/* The device has another session: what is in flight is lost. */
static int begin_anew(talk *t, int taken_over)
{
    rbd_exchange *x = t->x;
    rbd_device *device = x->device;
    device->known = 0;
    device->taken_over = taken_over;
    if (x->epoch)
        return RBD_WAS_RESET;
    lose(t, device->sent);
    t->unasked = 0;
    const int status = rbd_internal_open_session(device);
    rbd_internal_progress(x);
    calm(t);
    return status == RBD_ERROR_SILENT ? rbd_internal_failure(x) : status;
}

static int take_answer(talk *t, const rbd_datagram *d)
{
    rbd_device *device = t->x->device;
    rbd_status s;
    const int found = rbd_internal_take_status(device, d, &s);
    if (found <= 0)
        return -found;
    const int ours = s.session == device->epoch, again = s.epoch != device->reset_epoch;
    const int behind = ahead(s.told, s.asked.told) < 0 || ahead(s.taken, s.asked.taken) < 0;
    if (!ours || again || behind || ahead(s.taken, device->sent) > 0)
        return begin_anew(t, !ours && !again);
    t->x->any_progress = rbd_internal_now(device) + device->limits.progress;
    if (ahead(s.taken, device->taken) > 0) {
        device->taken = s.taken;
        t->probed = 0;
        calm(t);
    }
    /* what was taken or passed over before the hello was sent, and is not answered, is lost */
    if (lose(t, s.asked.taken)) {
        forget(device, s.told);
        device->part_length = 0;
    }
    const int expected = ahead(s.asked.serial, device->taken) > 0;
    t->due |= flies_below(device, expected ? device->taken : s.asked.serial);
    /* it still expects what was sent before the hello, and nothing was sent since */
    if (expected && s.asked.serial == device->sent && !t->probed) {
        t->due = t->probed = 1;
        return probe(device);
    }
    return RBD_OK;
}

/* ---- What is sent ---- */

static int ask(talk *t)
{
    rbd_device *device = t->x->device;
    rbd_asked *asked = rbd_internal_new_ask(device);
    asked->serial = device->sent;
    asked->taken = device->taken;
    asked->told = device->told;
    t->unasked = 0;
    t->due = 0;
    return rbd_internal_request(device, RBD_DATAGRAM_HELLO, device->epoch, asked->nonce);
}

/* Sends the packet of a task that is longer than a datagram. */
static int send_long(talk *t, size_t length)
{
    rbd_exchange *x = t->x;
    rbd_device *device = x->device;
    const uint32_t size = words(length), pieces = (size + BODY_BYTES - 1) / BODY_BYTES;
    const uint32_t cost = size + pieces * RBD_DATAGRAM_OVERHEAD;
    rbd_internal_depart(x, device->sent + pieces - 1u, cost);
    device->left -= cost;
    for (size_t at = 0; at < size; at += BODY_BYTES) {
        const size_t part = size - at < BODY_BYTES ? size - at : BODY_BYTES;
        const size_t own = length - at < part ? length - at : part;
        memset(device->out + RBD_DATAGRAM_HEAD, 0, part);
        memcpy(device->out + RBD_DATAGRAM_HEAD, device->packet + at, own);
        post(device, RBD_DATAGRAM_TASKS, device->sent++, (at == 0 ? BEGINS : 0u) | (at + part == size ? ENDS : 0u), part);
    }
    t->posted += pieces;
    t->unasked++;
    return RBD_OK;
}

/* How many tasks go into the next datagram; one that is longer counts as one. None where it is better to wait: what is
 * not full is sent only when the device has little to do, or when there are no more. */
static size_t fitting(const talk *t)
{
    const rbd_exchange *x = t->x;
    const rbd_device *device = x->device;
    const size_t answers = MOST_ANSWERS / device->design->longest_answer;
    const size_t most = answers < RBD_PROBE_TAG ? answers + 1 : RBD_PROBE_TAG;
    const size_t left = device->again_count + (x->job->count - x->next);
    size_t count = 0, used = 0, task;
    int full = 0;
    while (!full && device->flying + count < most && rbd_internal_upcoming(x, count, &task)) {
        const size_t size = words(x->job->size(x->job, task));
        const size_t pieces = (size + BODY_BYTES - 1) / BODY_BYTES;
        full = count > 0 && used + size > BODY_BYTES;
        if (full || used + size + pieces * RBD_DATAGRAM_OVERHEAD > device->left)
            break;
        used += size;
        count++;
        full = pieces > 1;
    }
    const int busy = 2 * device->flying > most || 2 * device->left < device->room;
    return full || count == left || !busy ? count : 0;
}

static int send_some(talk *t, size_t count)
{
    rbd_exchange *x = t->x;
    rbd_device *device = x->device;
    unsigned char *body = device->out + RBD_DATAGRAM_HEAD;
    size_t used = 0;
    for (size_t k = 0; k < count; k++) {
        size_t task;
        rbd_internal_upcoming(x, 0, &task);
        const size_t length = x->job->size(x->job, task);
        const uint32_t size = words(length);
        if (size > BODY_BYTES)
            return send_long(t, length);
        const uint32_t cost = size + (k == 0 ? RBD_DATAGRAM_OVERHEAD : 0u);
        rbd_internal_depart(x, device->sent, cost);
        device->left -= cost;
        memset(body + used, 0, size);
        memcpy(body + used, device->packet, length);
        used += size;
        t->unasked++;
    }
    t->posted++;
    return post(device, RBD_DATAGRAM_TASKS, device->sent++, BEGINS | ENDS, used);
}

/* Sends what the device has room for. */
static int send_tasks(talk *t)
{
    rbd_device *device = t->x->device;
    size_t count, task;
    while ((count = fitting(t)) > 0)
        send_some(t, count);
    if (!device->flying && rbd_internal_upcoming(t->x, 0, &task)) {
        const uint32_t size = words(t->x->job->size(t->x->job, task));
        const uint32_t pieces = (size + BODY_BYTES - 1) / BODY_BYTES;
        return rbd_internal_no_room(device, device->left, size + pieces * RBD_DATAGRAM_OVERHEAD);
    }
    return RBD_OK;
}

/* Sends what there is room for and a hello where one is due, and takes what comes. */
static int step(talk *t)
{
    rbd_exchange *x = t->x;
    rbd_device *device = x->device;
    rbd_datagram d;
    int status = send_tasks(t);
    if (status != RBD_OK)
        return status;
    const int stopped = t->unasked > 0 && t->posted > 1 && !device->asked_count;
    if (t->due || t->unasked >= ASK_EVERY || stopped)
        ask(t);
    const int found = rbd_internal_next_datagram(device, x->quiet, &d);
    if (found < 0)
        return -found;
    if (found && d.kind == RBD_DATAGRAM_TASKS)
        take_results(t, &d);
    else if (found)
        status = take_answer(t, &d);
    const uint64_t now = rbd_internal_now(device);
    if (status == RBD_OK && x->done < x->job->count && (now >= x->any_progress || now >= x->task_progress))
        return rbd_internal_failure(x);
    /* what comes without being of use is as good as silence */
    if (now >= x->quiet)
        wait_longer(t);
    return status;
}

int rbd_internal_datagram_exchange(rbd_exchange *x)
{
    rbd_device *device = x->device;
    talk t = {x, 0, 0, 0, 0, 0};
    int status = RBD_OK;
    if (x->epoch && *x->epoch != device->epoch)
        return RBD_WAS_RESET;
    /* what an exchange before left in flight is waited for no more, but its tags and room are not free yet */
    for (unsigned tag = 0; tag < RBD_TAGS; tag++)
        if (device->flights[tag].busy)
            device->flights[tag].busy = RBD_ABANDONED;
    rbd_internal_start(x);
    calm(&t);
    t.due = device->flying > 0;
    while (status == RBD_OK && x->done < x->job->count)
        status = step(&t);
    return status;
}
