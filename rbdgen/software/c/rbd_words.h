/* Words of fixed-point programs: their formats and limits, and what is done to them. */
#ifndef RBD_WORDS_H
#define RBD_WORDS_H

#include "rbd_kernel.h"

/* What is said of a state, as hardware says it of a task. */
enum { RBD_OVERFLOW = 1, RBD_OUTSIDE = 2 };

/* Of a state's checks the bits that overflows lost. */
enum { rbd_lost };

RBD_INLINE int64_t rbd_left(int64_t x, int64_t places) { return (int64_t)((uint64_t)x << places); }

RBD_INLINE int64_t rbd_magnitude(int64_t x) { return x < 0 ? -x : x; }

RBD_INLINE int64_t rbd_saturated(int64_t x, int64_t low, int64_t high)
{
    const int64_t above = x < low ? low : x;
    return above > high ? high : above;
}

RBD_INLINE int64_t rbd_wrapped(int64_t x, int64_t low, int64_t high)
{
    return (int64_t)(((uint64_t)x - (uint64_t)low) & (uint64_t)(high - low)) + low;
}

/* A word's format, and the raw values of its declared limits, both of them inside. */
typedef struct {
    int16_t width, frac; /* tiny quantities have more than 127 bits behind the point */
} rbd_format;

typedef struct {
    int64_t low, high;
} rbd_limits;

/* Whether any of a state's raw words is outside its declared range. */
RBD_INLINE int rbd_outside(const int64_t *x, const rbd_limits *limits, size_t size, size_t stride)
{
    int found = 0;
    for (size_t i = 0; i < size; i++)
        found |= x[i * stride] < limits[i].low || x[i * stride] > limits[i].high;
    return found;
}

/* The nearest raw values, half up; what does not fit, or is no number, becomes the format's end. */
RBD_INLINE void rbd_quantise(int64_t *raw, const double *x, const rbd_format *formats, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const double most = ldexp(1.0, formats[i].width - 1), y = floor(ldexp(x[i], formats[i].frac) + 0.5);
        raw[i] = y >= -most ? (int64_t)(y <= most - 1 ? y : most - 1) : (int64_t)-most;
    }
}

/* What raw values stand for. */
RBD_INLINE void rbd_real(double *x, const int64_t *raw, const rbd_format *formats, size_t size)
{
    for (size_t i = 0; i < size; i++)
        x[i] = ldexp((double)raw[i], -formats[i].frac);
}

/* By how many places the highest bit of x moves to place `top`; of what is not positive, that of 1. */
RBD_INLINE int64_t rbd_lift(int64_t x, int64_t top)
{
    int64_t rest = x > 0 ? x : 1, highest = 0;
    /* written out, so that it vectorises */
#define RBD_HALVE(places) \
    highest += rest >> places ? places : 0; \
    rest = rest >> places ? rest >> places : rest;
    RBD_HALVE(32)
    RBD_HALVE(16)
    RBD_HALVE(8)
    RBD_HALVE(4)
    RBD_HALVE(2)
    RBD_HALVE(1)
#undef RBD_HALVE
    return top - highest;
}

/* The index in a table of a quarter turn, with so many address bits, of an angle in its intervals. */
RBD_INLINE int64_t rbd_mirrored(int64_t place, int64_t bits)
{
    const int64_t last = ((int64_t)1 << bits) - 1, index = place & last;
    return (place >> bits) & 1 ? last - index : index;
}
#endif
