/* Frames on a byte link: kind, length, payload and CRC-32 between flags, as in rbdgen/protocol/frames.py. Whatever is
 * not a whole frame is dropped and counted. */
#include "rbdgen_internal.h"

#define FLAG 0x7Eu
#define ESCAPE 0x7Du
#define ESCAPE_BIT 0x20u

/* The CRC's register after four more bits of zeros behind each value. */
static const uint32_t CRC_OF_NIBBLE[16] = {
    0x00000000u, 0x1DB71064u, 0x3B6E20C8u, 0x26D930ACu, 0x76DC4190u, 0x6B6B51F4u, 0x4DB26158u, 0x5005713Cu,
    0xEDB88320u, 0xF00F9344u, 0xD6D6A3E8u, 0xCB61B38Cu, 0x9B64C2B0u, 0x86D3D2D4u, 0xA00AE278u, 0xBDBDF21Cu};

uint32_t rbd_internal_crc(uint32_t crc, const unsigned char *data, size_t size)
{
    for (size_t k = 0; k < size; k++) {
        crc ^= data[k];
        crc = (crc >> 4) ^ CRC_OF_NIBBLE[crc & 15u];
        crc = (crc >> 4) ^ CRC_OF_NIBBLE[crc & 15u];
    }
    return crc;
}

uint64_t rbd_internal_now(const rbd_device *device)
{
    return device->transport.milliseconds(device->transport.context);
}

static int gone(rbd_device *device)
{
    return rbd_internal_fail(device, RBD_ERROR_GONE, "%s: is gone; check the cable, and open it again",
                             device->transport.name);
}

int rbd_internal_flush(rbd_device *device)
{
    const size_t size = device->out_end;
    device->out_end = 0;
    if (size == 0)
        return RBD_OK;
    const int status =
        device->transport.write(device->transport.context, device->out, size, device->limits.write);
    if (status == RBD_OK)
        return RBD_OK;
    if (status == RBD_ERROR_STUCK)
        return rbd_internal_fail(
            device, RBD_ERROR_STUCK,
            "%s: takes no bytes for %g s; check that it is the board's, and its flow control",
            device->transport.name, device->limits.write / 1000.0);
    return gone(device);
}

static int put(rbd_device *device, unsigned byte)
{
    if (device->out_end == sizeof device->out) {
        const int status = rbd_internal_flush(device);
        if (status != RBD_OK)
            return status;
    }
    device->out[device->out_end++] = (unsigned char)byte;
    return RBD_OK;
}

static int put_escaped(rbd_device *device, const unsigned char *data, size_t size)
{
    int status = RBD_OK;
    for (size_t k = 0; k < size && status == RBD_OK; k++) {
        const unsigned byte = data[k];
        const int special = byte == FLAG || byte == ESCAPE;
        if (special)
            status = put(device, ESCAPE);
        if (status == RBD_OK)
            status = put(device, special ? byte ^ ESCAPE_BIT : byte);
    }
    return status;
}

int rbd_internal_send(rbd_device *device, unsigned kind, const unsigned char *payload, size_t length)
{
    const unsigned char head[RBD_HEAD_BYTES] = {(unsigned char)kind, (unsigned char)(length & 255u),
                                                (unsigned char)(length >> 8)};
    const uint32_t begun = rbd_internal_crc(0xFFFFFFFFu, head, sizeof head);
    const uint32_t crc = ~rbd_internal_crc(begun, payload, length);
    const unsigned char sum[4] = {(unsigned char)(crc & 255u), (unsigned char)(crc >> 8 & 255u),
                                  (unsigned char)(crc >> 16 & 255u), (unsigned char)(crc >> 24)};
    int status = put(device, FLAG);
    if (status == RBD_OK)
        status = put_escaped(device, head, sizeof head);
    if (status == RBD_OK)
        status = put_escaped(device, payload, length);
    if (status == RBD_OK)
        status = put_escaped(device, sum, sizeof sum);
    if (status == RBD_OK)
        status = put(device, FLAG);
    return status;
}

/* Whether what stands between two flags is a whole frame. */
static int whole(const rbd_device *device)
{
    const unsigned char *frame = device->frame;
    const size_t length = device->frame_length;
    if (device->frame_bad || device->frame_escaped || length < RBD_FRAME_BYTES)
        return 0;
    if ((size_t)frame[1] + ((size_t)frame[2] << 8) != length - RBD_FRAME_BYTES)
        return 0;
    const unsigned char *sum = frame + length - 4;
    const uint32_t told =
        sum[0] | (uint32_t)sum[1] << 8 | (uint32_t)sum[2] << 16 | (uint32_t)sum[3] << 24;
    return told == (uint32_t)~rbd_internal_crc(0xFFFFFFFFu, frame, length - 4);
}

/* Takes a byte that came; whether a frame is whole with it. */
static int take(rbd_device *device, unsigned byte)
{
    if (device->frame_done) {
        device->frame_length = 0;
        device->frame_done = device->frame_bad = device->frame_escaped = 0;
    }
    if (byte == FLAG) {
        const int any = device->frame_length || device->frame_bad || device->frame_escaped;
        const int good = any && whole(device);
        device->frame_done = 1;
        if (!good)
            device->frame_length = 0;
        device->frame_bad = device->frame_escaped = 0;
        device->counters.damaged += any && !good;
        device->counters.whole += (unsigned)good;
        return good;
    }
    if (device->frame_escaped) {
        byte ^= ESCAPE_BIT;
        device->frame_escaped = 0;
        device->frame_bad |= byte != FLAG && byte != ESCAPE;
    } else if (byte == ESCAPE) {
        device->frame_escaped = 1;
        return 0;
    }
    if (device->frame_length == device->frame_size)
        device->frame_bad = 1;
    else
        device->frame[device->frame_length++] = (unsigned char)byte;
    return 0;
}

int rbd_internal_next_frame(rbd_device *device, int wait, uint64_t until, unsigned *kind,
                            const unsigned char **payload, size_t *length)
{
    for (;;) {
        while (device->in_begin < device->in_end) {
            if (!take(device, device->in[device->in_begin++]))
                continue;
            *kind = device->frame[0];
            *payload = device->frame + RBD_HEAD_BYTES;
            *length = device->frame_length - RBD_FRAME_BYTES;
            return 1;
        }
        if (!wait)
            return 0;
        const uint64_t now = rbd_internal_now(device);
        const uint32_t left = now < until ? (uint32_t)(until - now) : 0;
        const ptrdiff_t came =
            device->transport.read(device->transport.context, device->in, sizeof device->in, left);
        device->in_begin = device->in_end = 0;
        if (came < 0 || (size_t)came > sizeof device->in)
            return -gone(device);
        device->in_end = (size_t)came;
        /* what comes without being of use is as good as silence; a reading may end early */
        wait = rbd_internal_now(device) < until;
    }
}
