/* Whether requests can be meant: functions that there are, arrays that are there and apart, numbers that are finite and
 * that words hold, rotations of unit length. */
#include <math.h>
#include <string.h>

#include "rbdgen_internal.h"

#define UNIT_TOLERANCE 1e-6 /* how far the square of a unit vector's length may be from 1: rbdgen/operands.py */

int rbd_internal_finite(double value)
{
    /* of its bits, since compilers take isfinite for true with -ffast-math */
    const uint64_t exponent = (uint64_t)0x7ff << 52;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits & exponent) != exponent;
}

static int is_beside(const void *one, size_t bytes, const void *other, size_t other_bytes)
{
    const uintptr_t a = (uintptr_t)one, b = (uintptr_t)other;
    return a < b ? b - a >= bytes : a - b >= other_bytes;
}

/* Numbers of a vector in all of a request's states. */
static size_t bytes_of(const rbd_vector *vector, const rbd_request *request)
{
    return vector->size * request->count * sizeof(double);
}

/* That one of a request's results overlaps nothing of another request, or of its own. */
static int check_beside(rbd_device *device, const rbd_request *request, size_t result, const rbd_request *other)
{
    const rbd_function *own = &device->design->function[request->function];
    const rbd_function *function = &device->design->function[other->function];
    const double *begin = request->results[result];
    const size_t bytes = bytes_of(&own->gives[result], request);
    const char *name = NULL;
    for (size_t k = 0; k < function->operand_vectors; k++)
        if (!is_beside(begin, bytes, other->operands[k], bytes_of(&function->takes[k], other)))
            name = function->takes[k].name;
    for (size_t k = 0; k < function->result_vectors; k++)
        if ((request != other || result != k) &&
            !is_beside(begin, bytes, other->results[k], bytes_of(&function->gives[k], other)))
            name = function->gives[k].name;
    if (name)
        return rbd_internal_fail(device, RBD_ERROR_ARGUMENT,
                                 "%.80s: must not overlap %.80s, which would be lost where tasks are sent again; give "
                                 "an array of its own",
                                 own->gives[result].name, name);
    return RBD_OK;
}

/* That a vector is there, and its numbers can be counted. */
static int check_vector(rbd_device *device, const rbd_vector *vector, const double *values, size_t count)
{
    if (!values)
        return rbd_internal_fail(device, RBD_ERROR_ARGUMENT, "%.80s: must not be NULL; give %lu numbers for each state",
                                 vector->name, (unsigned long)vector->size);
    if (count > (size_t)-1 / sizeof(double) / vector->size)
        return rbd_internal_fail(device, RBD_ERROR_ARGUMENT, "count: %lu states are more than memory can hold",
                                 (unsigned long)count);
    return RBD_OK;
}

/* That all numbers that are sent are finite. */
static int check_finite(rbd_device *device, const rbd_function *function, const rbd_request *request)
{
    for (size_t k = 0; k < function->operand_words; k++) {
        const rbd_operand *word = &function->operands[k];
        const rbd_vector *vector = &function->takes[word->vector];
        const double *values = request->operands[word->vector] + word->entry;
        for (size_t state = 0; state < request->count; state++) {
            const double value = values[state * vector->size];
            if (!rbd_internal_finite(value))
                return rbd_internal_fail(device, RBD_ERROR_ARGUMENT, "%.80s[%lu] of state %lu: must be finite, not %g",
                                         vector->name, (unsigned long)word->entry, (unsigned long)state, value);
        }
    }
    return RBD_OK;
}

/* That numbers of a word are whole where they must be, and none is beyond the end of its format where that end is in the
 * declared range, so that nothing would flag it. A rounding beyond is none. */
static int check_held(rbd_device *device, const rbd_function *function, const rbd_request *request)
{
    for (size_t k = 0; k < function->operand_words; k++) {
        const rbd_operand *word = &function->operands[k];
        const rbd_vector *vector = &function->takes[word->vector];
        const double *values = request->operands[word->vector] + word->entry;
        const double end = ldexp(1, word->width - 1 - word->frac);
        const double step = ldexp(1, -word->frac), beyond = vector->whole && word->frac <= 0 ? 0 : step;
        const double low = rbd_value(word->lower, word->frac), high = rbd_value(word->upper, word->frac);
        const double least = low <= -end ? low - beyond : -HUGE_VAL;
        const double most = high >= end - step ? high + beyond : HUGE_VAL;
        for (size_t state = 0; state < request->count; state++) {
            const double value = values[state * vector->size];
            if (vector->whole && value != floor(value))
                return rbd_internal_fail(device, RBD_ERROR_ARGUMENT,
                                         "%.80s[%lu] of state %lu: must be a whole number, not %g", vector->name,
                                         (unsigned long)word->entry, (unsigned long)state, value);
            if (value < least || value > most)
                return rbd_internal_fail(device, RBD_ERROR_ARGUMENT,
                                         "%.80s[%lu] of state %lu: must be %.9g to %.9g, which is all that its word of "
                                         "%d bits holds, not %.9g; use several tasks or a design of longer words",
                                         vector->name, (unsigned long)word->entry, (unsigned long)state, low, high,
                                         word->width, value);
        }
    }
    return RBD_OK;
}

/* That what must be is of unit length. */
static int check_units(rbd_device *device, const rbd_vector *vector, const double *values, size_t count)
{
    for (size_t k = 0; k < vector->units; k++) {
        const rbd_unit *unit = &vector->unit[k];
        for (size_t state = 0; state < count; state++) {
            const double *part = values + state * vector->size + unit->first;
            double square = 0;
            for (uint32_t entry = 0; entry < unit->size; entry++)
                square += part[entry] * part[entry];
            const double off = fabs(square - 1);
            if (!(off <= UNIT_TOLERANCE))
                return rbd_internal_fail(device, RBD_ERROR_ARGUMENT,
                                         "%.80s of state %lu: joint %.80s must be %s of unit length, is off by %.3g",
                                         vector->name, (unsigned long)state, unit->joint,
                                         unit->size == 2 ? "(cos, sin)" : "a quaternion (x, y, z, w)", off);
        }
    }
    return RBD_OK;
}

int rbd_internal_check_request(rbd_device *device, const rbd_request *request)
{
    int status = RBD_OK;
    if (request->function >= device->design->functions)
        return rbd_internal_fail(device, RBD_ERROR_ARGUMENT, "function %lu: design %.80s has only %lu",
                                 (unsigned long)request->function, device->design->name,
                                 (unsigned long)device->design->functions);
    const rbd_function *function = &device->design->function[request->function];
    if (request->count == 0)
        return RBD_OK;
    if (!request->operands || !request->results)
        return rbd_internal_fail(device, RBD_ERROR_ARGUMENT, "%s: must not be NULL; give an array for each vector",
                                 request->operands ? "results" : "operands");
    for (size_t k = 0; k < function->operand_vectors && status == RBD_OK; k++)
        status = check_vector(device, &function->takes[k], request->operands[k], request->count);
    for (size_t k = 0; k < function->result_vectors && status == RBD_OK; k++)
        status = check_vector(device, &function->gives[k], request->results[k], request->count);
    if (status == RBD_OK)
        status = check_finite(device, function, request);
    if (status == RBD_OK)
        status = check_held(device, function, request);
    for (size_t k = 0; k < function->operand_vectors && status == RBD_OK; k++)
        status = check_units(device, &function->takes[k], request->operands[k], request->count);
    return status;
}

/* That no result overlaps anything else. */
int rbd_internal_check_apart(rbd_device *device, const rbd_request *requests, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        const size_t results = requests[k].count ? device->design->function[requests[k].function].result_vectors : 0;
        for (size_t result = 0; result < results; result++)
            for (size_t j = 0; j < count; j++) {
                const int status =
                    requests[j].count ? check_beside(device, &requests[k], result, &requests[j]) : RBD_OK;
                if (status != RBD_OK)
                    return status;
            }
    }
    return RBD_OK;
}
