/* Sessions with a device over datagrams: asked for until the device says that it is this one. */
#include <string.h>

#include "rbdgen_internal.h"

#define EPOCH_AT RBD_IDENTITY_BYTES
#define FIRST_QUIET 20u   /* ms of silence before it is asked again; then twice as many each time */
#define OPENING_MS 5000u  /* within which a device must answer at all when it is opened */
#define OWNED_MS 2000u    /* how long a device is asked again that is another host's */
#define PROBE_ROOM 256u   /* of the device's, for tasks of no function */

int rbd_internal_take_status(rbd_device *device, const rbd_datagram *d, rbd_status *status)
{
    if (d->kind != RBD_DATAGRAM_HELLO || !rbd_internal_asked(device, d->number, &status->asked)) {
        device->counters.stray++;
        return 0;
    }
    const unsigned char *identity = d->length == RBD_STATUS_BYTES ? d->body : NULL;
    const int wrong = rbd_internal_check_device(device, d->version, RBD_DATAGRAM_VERSION, identity);
    if (wrong != RBD_OK || !identity)
        return -wrong;
    status->session = d->session;
    status->epoch = rbd_internal_number_at(d->body + EPOCH_AT);
    status->room = rbd_internal_number_at(d->body + EPOCH_AT + 4);
    status->taken = rbd_internal_number_at(d->body + EPOCH_AT + 8);
    status->told = rbd_internal_number_at(d->body + EPOCH_AT + 12);
    device->met = 1;
    return 1;
}

/* Asks for the session. */
static int ask_for(rbd_device *device, uint32_t session)
{
    return rbd_internal_request(device, RBD_DATAGRAM_OPEN, session, rbd_internal_new_ask(device)->nonce);
}

static void begin_session(rbd_device *device, const rbd_status *status)
{
    device->epoch = status->session;
    device->reset_epoch = status->epoch;
    device->room = status->room;
    device->room -= device->room > 2 * PROBE_ROOM ? PROBE_ROOM : 0;
    device->left = device->room;
    device->sent = device->taken = device->told = 0;
    device->asked_count = device->flying = 0;
    device->part_length = 0;
    memset(device->came, 0, sizeof device->came);
    for (unsigned tag = 0; tag < RBD_TAGS; tag++)
        device->flights[tag].busy = RBD_LANDED;
    device->known = 1;
}

static int unopened(rbd_device *device, uint32_t hellos)
{
    if (device->lost_way && !device->met)
        return rbd_internal_fail(device, RBD_ERROR_GONE,
                                 "%s: cannot be reached, or nobody listens there; check its address and port, the "
                                 "cable, and that this computer's is in the same network",
                                 device->transport.name);
    return rbd_internal_fail(device, RBD_ERROR_SILENT,
                             "%s: no answer to %lu hellos; check that the board is programmed, its cable and its "
                             "address",
                             device->transport.name, (unsigned long)hellos);
}

int rbd_internal_open_session(rbd_device *device)
{
    const uint32_t session = rbd_internal_random(device) | 1u;
    const uint32_t longest = device->limits.progress;
    const uint64_t begun = rbd_internal_now(device);
    uint64_t until = begun + (device->met || longest < OPENING_MS ? longest : OPENING_MS);
    uint64_t owned = (uint64_t)-1, ask = begun;
    uint32_t interval = FIRST_QUIET, hellos = 0;
    device->lost_way = 0;
    device->asked_begin = device->asked_count = 0;
    for (;;) {
        const uint64_t now = rbd_internal_now(device);
        rbd_datagram d;
        rbd_status status;
        if (now >= owned)
            return rbd_internal_fail(device, RBD_ERROR_OWNED,
                                     "%s: is in use by another host; end what drives it there, or wait until it is done",
                                     device->transport.name);
        if (now >= until || (device->lost_way && !device->met))
            return unopened(device, hellos);
        if (now >= ask) {
            ask_for(device, session);
            hellos++;
            ask = now + interval;
            interval = 2 * interval < device->limits.quiet ? 2 * interval : device->limits.quiet;
        }
        const int found = rbd_internal_next_datagram(device, ask, &d);
        const int taken = found == 1 ? rbd_internal_take_status(device, &d, &status) : found;
        if (taken < 0)
            return -taken;
        if (taken == 0)
            continue;
        if (status.session == session) {
            begin_session(device, &status);
            return RBD_OK;
        }
        until = rbd_internal_now(device) + longest;
        if (owned == (uint64_t)-1)
            owned = rbd_internal_now(device) + OWNED_MS;
    }
}

