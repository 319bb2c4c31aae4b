/* The meaning of a kernel's macros in floating point, for RBD_BITS 64 (double) or 32 (float) and RBD_WIDE (rbd_lanes.h).
 * Comes before each inclusion of a kernel. */
#include "rbd_kernel.h"

#undef RBD_REAL
#undef RBD_TYPED
#undef RBD_FARTHEST
#undef RBD_FAR_SINCOS
#if RBD_BITS == 64
#define RBD_REAL double
#define RBD_TYPED(name) name##_f64
#define RBD_FARTHEST RBD_FARTHEST_F64
#define RBD_FAR_SINCOS(x, s, c) ((s) = sin(x), (c) = cos(x))
#else
#define RBD_REAL float
#define RBD_TYPED(name) name##_f32
#define RBD_FARTHEST RBD_FARTHEST_F32
#define RBD_FAR_SINCOS(x, s, c) ((s) = sinf(x), (c) = cosf(x))
#endif

#include "rbd_lanes.h"

#undef RBD_SINCOS
#if RBD_WIDE
/* An angle that is too far is noted: its state is computed again by itself. */
#define RBD_SINCOS(x, s, c, near) \
    RBD_TYPED(rbd_sincos)(x, &(s), &(c)); \
    RBD_CHECK(near, RBD_ABS(x) <= RBD_FARTHEST)
#else
#define RBD_SINCOS(x, s, c, near) \
    if (RBD_ABS(x) <= RBD_FARTHEST) \
        RBD_TYPED(rbd_sincos)(x, &(s), &(c)); \
    else \
        RBD_FAR_SINCOS(x, s, c)
#endif

/* The largest number of steps of any lane. */
RBD_INLINE size_t RBD_NAME(rbd_most_steps)(const int32_t *steps)
{
    int32_t most = 0;
    for (size_t lane = 0; lane < RBD_LANES; lane++)
        most = steps[lane] > most ? steps[lane] : most;
    return (size_t)most;
}

/* A step of time in the lanes that have more of them than `number`. */
RBD_INLINE void RBD_NAME(rbd_advance)(RBD_REAL *now, const RBD_REAL *next, size_t size, const int32_t *steps, size_t number)
{
    for (size_t i = 0; i < size; i++)
        for (size_t lane = 0; lane < RBD_LANES; lane++)
            if ((size_t)steps[lane] > number)
                now[i * RBD_LANES + lane] = next[i * RBD_LANES + lane];
}

/* result = -(left right), of matrices with so many rows and columns; where `pattern` has a zero, so has the right one. */
#if defined(__GNUC__)
typedef RBD_REAL RBD_NAME(rbd_vector) __attribute__((vector_size(RBD_VECTOR_BYTES), aligned(RBD_BITS / 8), may_alias));
#endif
RBD_PART void RBD_NAME(rbd_negated_product)(RBD_REAL *RBD_RESTRICT result, size_t stride, const RBD_REAL *RBD_RESTRICT left,
                                        const RBD_REAL *RBD_RESTRICT right, size_t rows, size_t inner, size_t columns,
                                        const unsigned char *pattern)
{
    /* Four rows by as many columns as keep the sums in registers; a vector holds lanes, or columns of one state. The last
     * ones overlap with those before. */
    enum { width = RBD_VECTOR_BYTES * 8 / RBD_BITS, step = RBD_WIDE ? 1 : width, most = 256 };
#if defined(__GNUC__)
    const int blocked = rows >= 4 && columns >= 2 * step && inner <= most;
#else
    const int blocked = 0;
#endif
    if (!blocked) {
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < columns; j++)
                for (size_t lane = 0; lane < RBD_LANES; lane++) {
                    RBD_REAL sum = 0;
                    for (size_t k = 0; k < inner; k++)
                        sum -= left[(i * inner + k) * RBD_LANES + lane] * right[(k * columns + j) * RBD_LANES + lane];
                    result[(i * columns + j) * stride + lane] = sum;
                }
        return;
    }
#if defined(__GNUC__)
    typedef RBD_NAME(rbd_vector) vector;
    const size_t row = columns * stride, side = step * stride, apart = inner * RBD_LANES;
    for (size_t next = 0; next < columns; next += 2 * step) {
        const size_t j = next + 2 * step <= columns ? next : columns - 2 * step;
        /* where the entries are of the right one's rows that these columns have, and of the left one's columns */
        size_t found = 0, at_left[most], at_right[most];
        for (size_t k = 0; k < inner; k++) {
            unsigned any = 0;
            for (size_t c = 0; c < 2 * step; c++)
                any |= pattern[k * columns + j + c];
            at_left[found] = k * RBD_LANES;
            at_right[found] = (k * columns + j) * RBD_LANES;
            found += any;
        }
        for (size_t first = 0; first < rows; first += 4) {
            const size_t i = first + 4 <= rows ? first : rows - 4;
            const RBD_REAL *l0 = left + i * apart, *l1 = l0 + apart, *l2 = l1 + apart, *l3 = l2 + apart;
            vector s00 = {0}, s01 = {0}, s10 = {0}, s11 = {0}, s20 = {0}, s21 = {0}, s30 = {0}, s31 = {0};
            for (size_t n = 0; n < found; n++) {
                const size_t k = at_left[n];
                const RBD_REAL *r = right + at_right[n];
                const vector r0 = *(const vector *)r, r1 = *(const vector *)(r + step * RBD_LANES);
#if RBD_WIDE
#define RBD_LEFT(l) *(const vector *)(l + k)
#else
#define RBD_LEFT(l) l[k]
#endif
                s00 -= RBD_LEFT(l0) * r0, s01 -= RBD_LEFT(l0) * r1;
                s10 -= RBD_LEFT(l1) * r0, s11 -= RBD_LEFT(l1) * r1;
                s20 -= RBD_LEFT(l2) * r0, s21 -= RBD_LEFT(l2) * r1;
                s30 -= RBD_LEFT(l3) * r0, s31 -= RBD_LEFT(l3) * r1;
#undef RBD_LEFT
            }
            RBD_REAL *out = result + i * row + j * stride;
            *(vector *)out = s00, *(vector *)(out + side) = s01, out += row;
            *(vector *)out = s10, *(vector *)(out + side) = s11, out += row;
            *(vector *)out = s20, *(vector *)(out + side) = s21, out += row;
            *(vector *)out = s30, *(vector *)(out + side) = s31;
        }
    }
#endif
}
