/* Hellos and their answers: who the device is, whether it was reset, how much it has room for. */
#include <stdio.h>
#include <string.h>

#include "rbdgen_internal.h"

#define PROTOCOL_VERSION 2
#define NONCE_BYTES 4
#define STATUS_BYTES 45
#define EPOCH_AT (NONCE_BYTES + 1 + RBD_IDENTITY_BYTES)

uint32_t rbd_internal_number_at(const unsigned char *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* splitmix64 */
uint32_t rbd_internal_random(rbd_device *device)
{
    uint64_t x = device->random += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return (uint32_t)(x >> 32 ^ x);
}

/* Of those that may be answered the oldest is forgotten where they are too many. */
rbd_asked *rbd_internal_new_ask(rbd_device *device)
{
    if (device->asked_count == RBD_HELLOS) {
        device->asked_begin = (device->asked_begin + 1) % RBD_HELLOS;
        device->asked_count--;
    }
    rbd_asked *asked = &device->asked[(device->asked_begin + device->asked_count++) % RBD_HELLOS];
    memset(asked, 0, sizeof *asked);
    asked->nonce = rbd_internal_random(device);
    device->counters.hellos++;
    return asked;
}

int rbd_internal_asked(rbd_device *device, uint32_t nonce, rbd_asked *asked)
{
    for (size_t k = 0; k < device->asked_count; k++) {
        *asked = device->asked[(device->asked_begin + k) % RBD_HELLOS];
        if (asked->nonce == nonce) {
            device->asked_begin = (device->asked_begin + k + 1) % RBD_HELLOS;
            device->asked_count -= k + 1;
            return 1;
        }
    }
    return 0;
}

/* Sends a hello over bytes. */
int rbd_internal_ask(rbd_device *device, uint32_t serial)
{
    rbd_asked *asked = rbd_internal_new_ask(device);
    const uint32_t nonce = asked->nonce;
    const unsigned char payload[NONCE_BYTES] = {
        (unsigned char)(nonce & 255u), (unsigned char)(nonce >> 8 & 255u), (unsigned char)(nonce >> 16 & 255u),
        (unsigned char)(nonce >> 24)};
    asked->serial = serial;
    const int status = rbd_internal_send(device, RBD_KIND_HELLO, payload, sizeof payload);
    return status == RBD_OK ? rbd_internal_flush(device) : status;
}

static void hexadecimal(const unsigned char *bytes, char *text)
{
    for (size_t k = 0; k < RBD_IDENTITY_BYTES; k++) {
        text[2 * k] = "0123456789abcdef"[bytes[k] >> 4];
        text[2 * k + 1] = "0123456789abcdef"[bytes[k] & 15u];
    }
    text[2 * RBD_IDENTITY_BYTES] = 0;
}

static int another_design(rbd_device *device, const unsigned char *found)
{
    char has[2 * RBD_IDENTITY_BYTES + 1], wanted[2 * RBD_IDENTITY_BYTES + 1];
    const rbd_program *program = device->design->program;
    hexadecimal(found, has);
    hexadecimal(program ? program->engine : device->design->identity, wanted);
    if (program)
        return rbd_internal_fail(device, RBD_ERROR_DESIGN,
                                 "device: has engine %s, and program %.80s is for %s; make it for this one, or flash the "
                                 "board's engine again",
                                 has, device->design->name, wanted);
    return rbd_internal_fail(device, RBD_ERROR_DESIGN,
                             "device: holds design %s, not %s (%.80s); program the board with that bitstream, or use "
                             "the header of the design that it holds",
                             has, wanted, device->design->name);
}

int rbd_internal_check_device(rbd_device *device, unsigned version, unsigned known, const unsigned char *identity)
{
    if (version != known)
        return rbd_internal_fail(device, RBD_ERROR_PROTOCOL,
                                 "device: speaks version %u of the protocol, this host version %u; build the "
                                 "board's bitstream with the version of rbdgen that wrote this host",
                                 version, known);
    const rbd_design *design = device->design;
    const uint8_t *own = design->program ? design->program->engine : design->identity;
    if (identity && memcmp(identity, own, RBD_IDENTITY_BYTES) != 0)
        return another_design(device, identity);
    return RBD_OK;
}

/* Takes an answer to a hello: 1, with the tasks that were sent before that hello; 0 if it answers none; or minus a
 * status, unless it is the right device's. */
int rbd_internal_accept(rbd_device *device, const unsigned char *payload, size_t length, uint32_t *before)
{
    rbd_asked asked;
    if (length <= NONCE_BYTES || !rbd_internal_asked(device, rbd_internal_number_at(payload), &asked))
        return 0;
    const unsigned char *identity = length == STATUS_BYTES ? payload + NONCE_BYTES + 1 : NULL;
    const int status = rbd_internal_check_device(device, payload[NONCE_BYTES], PROTOCOL_VERSION, identity);
    if (status != RBD_OK || !identity)
        return -status;
    *before = asked.serial;
    device->known = 1;
    device->epoch = rbd_internal_number_at(payload + EPOCH_AT);
    device->room = rbd_internal_number_at(payload + EPOCH_AT + 4);
    return 1;
}

const char *rbd_internal_remedy(const rbd_device *device)
{
    return device->transport.datagrams ? "check the cable, and the switch if there is one"
                                       : "check the cable, or lower the baud rate";
}

void rbd_internal_since(const rbd_device *device, const rbd_counters *before, rbd_counters *change)
{
    const rbd_counters *now = &device->counters;
    memset(change, 0, sizeof *change);
    change->sent = now->sent - before->sent;
    change->lost = now->lost - before->lost;
    change->whole = now->whole - before->whole;
    change->damaged = now->damaged - before->damaged;
}

void rbd_internal_measured(const rbd_device *device, const rbd_counters *before, char *text, size_t size)
{
    rbd_counters change;
    rbd_internal_since(device, before, &change);
    const uint64_t frames = change.damaged + change.whole;
    const double share = frames ? (double)change.damaged / (double)frames : 0.0;
    char lost[100] = "";
    if (change.sent)
        snprintf(lost, sizeof lost, "%llu of %llu tasks that were sent were lost, and ",
                 (unsigned long long)change.lost, (unsigned long long)change.sent);
    snprintf(text, size, "%s%llu of %llu %s from the device (%.0f%%) came damaged", lost,
             (unsigned long long)change.damaged, (unsigned long long)frames,
             device->transport.datagrams ? "datagrams" : "frames", 100.0 * share);
}

/* Waits for the answer to a hello: 1, 0 after silence or where nothing else comes for as long, or minus a status. */
static int answered(rbd_device *device)
{
    const uint64_t until = rbd_internal_now(device) + device->limits.quiet;
    const unsigned char *payload;
    unsigned kind;
    size_t length;
    uint32_t before;
    int found;
    while ((found = rbd_internal_next_frame(device, 1, until, &kind, &payload, &length)) == 1) {
        const int taken = kind == RBD_KIND_HELLO ? rbd_internal_accept(device, payload, length, &before) : 0;
        if (taken != 0)
            return taken;
        if (rbd_internal_now(device) >= until)
            return 0;
    }
    return found;
}

int rbd_internal_hello(rbd_device *device)
{
    const uint64_t until = rbd_internal_now(device) + device->limits.progress;
    const rbd_counters before = device->counters;
    uint32_t hellos = 0;
    device->asked_begin = device->asked_count = 0;
    while (hellos < device->limits.patience && rbd_internal_now(device) < until) {
        const int status = rbd_internal_ask(device, 0);
        if (status != RBD_OK)
            return status;
        hellos++;
        const int found = answered(device);
        if (found < 0)
            return -found;
        if (found) {
            device->amid = 0;
            return RBD_OK;
        }
    }
    char told[200] = "";
    if (device->counters.damaged != before.damaged) {
        memcpy(told, ": ", 2);
        rbd_internal_measured(device, &before, told + 2, sizeof told - 2);
    } else if ((device->frame_length && !device->frame_done) || device->frame_bad || device->frame_escaped)
        snprintf(told, sizeof told, ", only bytes that are no frames");
    return rbd_internal_fail(device, RBD_ERROR_SILENT,
                             "device: no answer to %lu hellos%s; check that the board is programmed, its port and "
                             "baud rate",
                             (unsigned long)hellos, told);
}
