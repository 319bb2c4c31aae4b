/* Packets: words of a task or result, each at its place of a beat, every beat from a new byte, lowest bit first, as in
 * rbdgen/protocol/packets.py. A value is the nearest raw one, halves upwards, saturated. */
#include <math.h>
#include <string.h>

#include "rbdgen_internal.h"

#define CODE_BITS 5
#define TAG_BITS 8

/* Goes from place to place. */
typedef struct {
    const rbd_packing *packing;
    size_t place, beat, bit;
} cursor;

static cursor first_place(const rbd_packing *packing)
{
    const cursor begin = {packing, 0, 0, 0};
    return begin;
}

/* The next place's width; `bit` is where it begins. */
static unsigned next_place(cursor *at, size_t *bit)
{
    const unsigned width = at->packing->places[at->place];
    *bit = at->bit;
    at->bit += width;
    if (++at->place == at->packing->count) {
        at->place = 0;
        at->beat += 8 * at->packing->beat_bytes;
        at->bit = at->beat;
    }
    return width;
}

/* The low `width` bits of `value` at the next place of a packet of zeros. */
static void put(cursor *at, unsigned char *packet, int64_t value)
{
    size_t bit;
    unsigned left = next_place(at, &bit);
    uint64_t bits = (uint64_t)value & (((uint64_t)1 << left) - 1);
    while (left) {
        const unsigned shift = (unsigned)(bit & 7u), room = 8 - shift, taken = left < room ? left : room;
        packet[bit >> 3] = (unsigned char)(packet[bit >> 3] | (bits << shift & 255u));
        bits >>= taken;
        bit += taken;
        left -= taken;
    }
}

/* The word at the next place. Only bits below `width` are looked at: the packet may end behind them. */
static uint64_t get(cursor *at, const unsigned char *packet, unsigned width)
{
    size_t bit;
    next_place(at, &bit);
    uint64_t bits = 0;
    for (unsigned got = 0; got < width;) {
        const unsigned shift = (unsigned)(bit & 7u), room = 8 - shift;
        bits |= (uint64_t)(packet[bit >> 3] >> shift) << got;
        bit += room;
        got += room;
    }
    return bits & (((uint64_t)1 << width) - 1);
}

static int64_t signed_value(uint64_t bits, unsigned width)
{
    const uint64_t sign = (uint64_t)1 << (width - 1);
    return (int64_t)(bits & (sign - 1)) - (int64_t)(bits & sign);
}

int64_t rbd_internal_quantise(double value, unsigned width, int frac)
{
    const int64_t end = (int64_t)1 << (width - 1);
    const double scaled = ldexp(value, frac), nearest = floor(scaled + 0.5);
    if (nearest >= (double)end)
        return end - 1;
    if (nearest < (double)-end)
        return -end;
    return (int64_t)nearest;
}

double rbd_value(int64_t raw, int frac)
{
    return ldexp((double)raw, -frac);
}

static int64_t raw_operand(const rbd_function *function, const rbd_operand *word, const double *const *operands,
                           size_t state)
{
    const size_t size = function->takes[word->vector].size;
    return rbd_internal_quantise(operands[word->vector][state * size + word->entry], word->width, word->frac);
}

void rbd_internal_pack(const rbd_design *design, const rbd_function *function, const double *const *operands,
                       size_t state, unsigned char *packet)
{
    cursor at = first_place(&design->task);
    memset(packet, 0, function->task_bytes);
    put(&at, packet, function->code);
    for (size_t k = 0; k < function->operand_words; k++)
        put(&at, packet, raw_operand(function, &function->operands[k], operands, state));
}

void rbd_internal_pack_parameter(const rbd_design *design, size_t number, int64_t raw, unsigned char *packet)
{
    cursor at = first_place(&design->task);
    memset(packet, 0, design->load_bytes);
    put(&at, packet, RBD_LOAD_CODE);
    put(&at, packet, (int64_t)number);
    put(&at, packet, raw);
}

unsigned rbd_internal_unpack(const rbd_design *design, const rbd_function *function, const unsigned char *packet,
                             double *const *results, size_t state)
{
    unsigned code, tag, flags;
    size_t header;
    cursor at = first_place(&design->result);
    rbd_internal_header(packet, &code, &tag, &flags);
    next_place(&at, &header);
    for (size_t k = 0; k < function->result_vectors; k++) {
        const size_t size = function->gives[k].size;
        double *values = results[k] + state * size;
        for (size_t entry = 0; entry < size; entry++)
            values[entry] = 0.0;
    }
    for (size_t k = 0; k < function->result_words; k++) {
        const rbd_result *word = &function->results[k];
        const int64_t raw = signed_value(get(&at, packet, word->width), word->width);
        double *values = results[word->vector] + state * function->gives[word->vector].size;
        values[word->entry] = rbd_value(raw, word->frac);
        values[word->mirror] = values[word->entry];
    }
    return flags;
}

void rbd_internal_set_tag(unsigned char *packet, unsigned tag)
{
    const unsigned mask = (1u << TAG_BITS) - 1;
    const unsigned old = packet[0] | (unsigned)packet[1] << 8;
    const unsigned word = (old & ~(mask << CODE_BITS)) | (tag & mask) << CODE_BITS;
    packet[0] = (unsigned char)(word & 255u);
    packet[1] = (unsigned char)(word >> 8);
}

void rbd_internal_header(const unsigned char *packet, unsigned *code, unsigned *tag, unsigned *flags)
{
    const unsigned word = packet[0] | (unsigned)packet[1] << 8;
    *code = word & ((1u << CODE_BITS) - 1);
    *tag = word >> CODE_BITS & ((1u << TAG_BITS) - 1);
    *flags = word >> (CODE_BITS + TAG_BITS);
}

size_t rbd_outside(const rbd_design *design, size_t function, const double *const *operands, size_t state, size_t from)
{
    const rbd_function *known = &design->function[function];
    for (size_t k = from; k < known->operand_words; k++) {
        const rbd_operand *word = &known->operands[k];
        const int64_t raw = raw_operand(known, word, operands, state);
        if (raw < word->lower || raw > word->upper)
            return k;
    }
    return known->operand_words;
}
