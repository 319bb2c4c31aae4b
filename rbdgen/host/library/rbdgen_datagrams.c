/* Datagrams: kind, version, marks and a constant, session, number, body and CRC-32, as in
 * rbdgen/protocol/datagrams.py. Whatever is not whole is dropped and counted. */
#include <string.h>

#include "rbdgen_internal.h"

#define MAGIC 0x52u
#define MOST_GONE 100 /* times in a row that a transport may say that the other end is gone, without taking time */

static void put_number(unsigned char *at, uint32_t number)
{
    at[0] = (unsigned char)(number & 255u);
    at[1] = (unsigned char)(number >> 8 & 255u);
    at[2] = (unsigned char)(number >> 16 & 255u);
    at[3] = (unsigned char)(number >> 24);
}

/* What cannot be sent is lost like any other datagram. */
int rbd_internal_post(rbd_device *device, const rbd_datagram *datagram)
{
    unsigned char *out = device->out;
    const size_t length = RBD_DATAGRAM_HEAD + datagram->length;
    out[0] = (unsigned char)datagram->kind;
    out[1] = RBD_DATAGRAM_VERSION;
    out[2] = (unsigned char)datagram->marks;
    out[3] = MAGIC;
    put_number(out + 4, datagram->session);
    put_number(out + 8, datagram->number);
    put_number(out + length, ~rbd_internal_crc(0xFFFFFFFFu, out, length));
    const int status = device->transport.write(device->transport.context, out, length + 4, device->limits.write);
    if (status == RBD_ERROR_GONE)
        device->lost_way++;
    return RBD_OK;
}

/* Asks for a status: with a body as long as the answer's, which means nothing. */
int rbd_internal_request(rbd_device *device, unsigned kind, uint32_t session, uint32_t nonce)
{
    const rbd_datagram datagram = {kind, 0, 0, session, nonce, NULL, RBD_STATUS_BYTES};
    memset(device->out + RBD_DATAGRAM_HEAD, 0, RBD_STATUS_BYTES);
    return rbd_internal_post(device, &datagram);
}

/* Whether so many bytes that came are a whole datagram. */
static int whole(const rbd_device *device, size_t length, rbd_datagram *datagram)
{
    const unsigned char *in = device->in;
    if (length < RBD_DATAGRAM_OVERHEAD || length > sizeof device->in || length % 4 || in[3] != MAGIC)
        return 0;
    if (rbd_internal_number_at(in + length - 4) != (uint32_t)~rbd_internal_crc(0xFFFFFFFFu, in, length - 4))
        return 0;
    datagram->kind = in[0];
    datagram->version = in[1];
    datagram->marks = in[2];
    datagram->session = rbd_internal_number_at(in + 4);
    datagram->number = rbd_internal_number_at(in + 8);
    datagram->body = in + RBD_DATAGRAM_HEAD;
    datagram->length = length - RBD_DATAGRAM_OVERHEAD;
    return 1;
}

int rbd_internal_next_datagram(rbd_device *device, uint64_t until, rbd_datagram *datagram)
{
    int gone = 0;
    for (;;) {
        const uint64_t now = rbd_internal_now(device);
        const uint32_t left = now < until ? (uint32_t)(until - now) : 0;
        const ptrdiff_t came =
            device->transport.read(device->transport.context, device->in, sizeof device->in, left);
        if (came > 0 && whole(device, (size_t)came, datagram)) {
            device->counters.whole++;
            return 1;
        }
        device->counters.damaged += came > 0;
        device->lost_way += came < 0;
        gone = came < 0 ? gone + 1 : 0;
        if (gone == MOST_GONE)
            return -rbd_internal_fail(device, RBD_ERROR_GONE, "%s: is gone; check the cable, and open it again",
                                      device->transport.name);
        if (rbd_internal_now(device) >= until || (came < 0 && !device->met))
            return 0;
    }
}
