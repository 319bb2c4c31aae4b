/* What a function of one state needs to be called by CPython with arrays, without a word of its headers: the buffer
 * protocol and the calls below are of its stable ABI since 3.11. They are bound when the library is loaded. */
#ifndef RBD_DIRECT_H
#define RBD_DIRECT_H

#include <math.h>
#include <stddef.h>
#include <string.h>

typedef struct {
    double *buf;
    void *obj;
    ptrdiff_t len, itemsize;
    int readonly, ndim;
    char *format;
    ptrdiff_t *shape, *strides, *suboffsets;
    void *internal;
} rbd_buffer;

typedef struct {
    int rank, size;
    ptrdiff_t shape[4];
} rbd_shape;

typedef struct {
    const char *name;
    void *call;
    int flags;
    const char *text;
} rbd_method;

#define RBD_FASTCALL 0x80
#define RBD_CONTIGUOUS 0x3c
#define RBD_WRITABLE 0x01

static int (*rbd_get)(void *, rbd_buffer *, int);
static void (*rbd_release)(rbd_buffer *);
static void (*rbd_clear)(void);
static void *(*rbd_number)(long);

/* Whether an array is of doubles and of this shape. */
static int rbd_fits(const rbd_buffer *x, const rbd_shape *wanted)
{
    if (x->ndim != wanted->rank || x->format == NULL || strcmp(x->format, "d") != 0)
        return 0;
    for (int i = 0; i < wanted->rank; i++)
        if (x->shape[i] != wanted->shape[i])
            return 0;
    return 1;
}

/* The number of arrays that are as wanted, and held from now on: all of them, or those before the first that is not. */
static int rbd_hold(void *const *given, rbd_buffer *held, const rbd_shape *wanted, int operands, int count)
{
    for (int i = 0; i < count; i++) {
        if (rbd_get(given[i], &held[i], RBD_CONTIGUOUS | (i < operands ? 0 : RBD_WRITABLE)) != 0) {
            rbd_clear();
            return i;
        }
        if (!rbd_fits(&held[i], &wanted[i])) {
            rbd_release(&held[i]);
            return i;
        }
    }
    return count;
}

/* Whether all numbers are finite: a zero times another one is no zero. */
static int rbd_finite(const double *x, int size)
{
    double sum = 0.0;
    for (int i = 0; i < size; i++)
        sum += 0.0 * x[i];
    return sum == 0.0;
}

static int rbd_unit(const double *x, int size, double tolerance)
{
    double sum = 0.0;
    for (int i = 0; i < size; i++)
        sum += x[i] * x[i];
    return fabs(sum - 1.0) <= tolerance;
}

#endif
