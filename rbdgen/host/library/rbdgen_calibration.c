/* Parameters that were loaded into a device, kept: a reset loses them, and what follows it would be of others. The
 * rules are those of rbdgen/host/parameters.py. */
#include <stdio.h>
#include <string.h>

#include "rbdgen_internal.h"

#define RESETS 5      /* times that a device may be reset during one call */
#define HELD_BYTES 9  /* of a parameter's value that is kept: whether there is one, and its raw value */

/* Loads of parameters: the numbers and raw values of those that are held, or of what is given by name. */
typedef struct {
    rbd_job job;
    rbd_device *device;
    const char *const *names;
    const double *values;
    size_t refused, refused_at, lost; /* a parameter's number, its task, a parameter's number; -1 if there is none */
} loading;

int rbd_internal_held(const rbd_device *device, size_t number, int64_t *raw)
{
    const unsigned char *kept = device->held + HELD_BYTES * number;
    memcpy(raw, kept + 1, sizeof *raw);
    return kept[0];
}

static void hold(rbd_device *device, size_t number, int64_t raw)
{
    unsigned char *kept = device->held + HELD_BYTES * number;
    kept[0] = 1;
    memcpy(kept + 1, &raw, sizeof raw);
}

static size_t parameter_number(const rbd_design *design, const char *name)
{
    size_t number = 0;
    while (number < design->parameters && strcmp(design->parameter[number].name, name) != 0)
        number++;
    return number;
}

static int64_t raw_value(const rbd_design *design, size_t number, double value)
{
    const rbd_parameter *parameter = &design->parameter[number];
    return rbd_internal_quantise(value, parameter->width, parameter->frac);
}

static void load_begin(rbd_job *job)
{
    loading *l = (loading *)job;
    l->refused = l->refused_at = l->lost = (size_t)-1;
}

static size_t load_size(const rbd_job *job, size_t task)
{
    (void)task;
    return ((const loading *)job)->device->design->load_bytes;
}

/* The number and raw value of a task: the next that is held, or by its name. */
static size_t load_of(const loading *l, size_t task, int64_t *raw)
{
    const rbd_design *design = l->device->design;
    if (l->names) {
        const size_t number = parameter_number(design, l->names[task]);
        *raw = raw_value(design, number, l->values[task]);
        return number;
    }
    size_t number = 0;
    while (!rbd_internal_held(l->device, number, raw) || task--)
        number++;
    return number;
}

static void load_pack(const rbd_job *job, size_t task, unsigned char *packet)
{
    const loading *l = (const loading *)job;
    int64_t raw;
    const size_t number = load_of(l, task, &raw);
    rbd_internal_pack_parameter(l->device->design, number, raw, packet);
}

static void load_answer(rbd_job *job, size_t task, const unsigned char *packet, size_t length)
{
    loading *l = (loading *)job;
    unsigned code, tag, flags;
    int64_t raw;
    const size_t number = load_of(l, task, &raw);
    (void)length;
    rbd_internal_header(packet, &code, &tag, &flags);
    if (!flags)
        hold(l->device, number, raw);
    else if (task < l->refused_at) {
        l->refused_at = task;
        l->refused = number;
    }
}

static void load_lose(rbd_job *job, size_t task)
{
    loading *l = (loading *)job;
    int64_t raw;
    l->lost = load_of(l, task, &raw);
}

static loading load(rbd_device *device, size_t count, const char *const *names, const double *values)
{
    loading made = {{count, load_begin, load_size, load_pack, load_answer, load_lose}, device, names, values, 0, 0, 0};
    load_begin(&made.job);
    return made;
}

/* That all were loaded. */
static int check(const loading *l)
{
    rbd_device *device = l->device;
    const rbd_design *design = device->design;
    if (l->lost < design->parameters)
        return rbd_internal_fail(device, RBD_ERROR_LOST,
                                 "parameter %.80s: lost %lu times; check the cable, then load all again",
                                 design->parameter[l->lost].name, (unsigned long)device->limits.attempts);
    if (l->refused < design->parameters) {
        const rbd_parameter *p = &design->parameter[l->refused];
        int64_t raw;
        load_of(l, l->refused_at, &raw);
        return rbd_internal_fail(device, RBD_ERROR_PARAMETER, "parameter %.80s: must be %.6g to %.6g, not %.6g",
                                 p->name, rbd_value(p->lower, p->frac), rbd_value(p->upper, p->frac),
                                 l->values ? l->values[l->refused_at] : rbd_value(raw, p->frac));
    }
    return RBD_OK;
}

static void note_reload(rbd_device *device, const char *what)
{
    device->counters.reloads++;
    snprintf(device->note, sizeof device->note, "device: %s in mid-use; its %s loaded again, and this call's tasks repeated",
             device->taken_over ? "was used by another host" : "was reset", what);
}

/* Loads the program where it is not whole, or the device was reset since. */
static int load_program_again(rbd_device *device)
{
    const uint32_t epoch = device->epoch;
    const int again = device->loaded && epoch != device->loaded_epoch;
    if (device->loaded && device->whole && !again)
        return RBD_OK;
    if (again)
        device->program_slot = -1;
    device->whole = 0;
    const int status = rbd_internal_load_program(device, &epoch);
    if (status != RBD_OK)
        return status;
    device->loaded = device->whole = 1;
    device->loaded_epoch = epoch;
    if (again) {
        char what[120];
        snprintf(what, sizeof what, "program (%.80s) was", device->design->robot);
        note_reload(device, what);
    }
    return RBD_OK;
}

/* Loads again what was loaded, where the device was reset since. */
static int load_again(rbd_device *device)
{
    size_t count = 0;
    int64_t raw;
    if (device->design->program)
        return load_program_again(device);
    if (!device->loaded || device->epoch == device->loaded_epoch)
        return RBD_OK;
    const uint32_t epoch = device->epoch;
    for (size_t k = 0; k < device->design->parameters; k++)
        count += rbd_internal_held(device, k, &raw) != 0;
    loading l = load(device, count, NULL, NULL);
    int status = rbd_internal_exchange(device, &l.job, &epoch);
    if (status == RBD_OK)
        status = check(&l);
    if (status != RBD_OK)
        return status;
    device->loaded_epoch = epoch;
    if (count) {
        char what[60];
        snprintf(what, sizeof what, "%lu parameters were", (unsigned long)count);
        note_reload(device, what);
    }
    return RBD_OK;
}

int rbd_internal_held_exchange(rbd_device *device, rbd_job *job)
{
    for (int k = 0; k < RESETS; k++) {
        int status = load_again(device);
        if (status == RBD_OK && job)
            status = rbd_internal_exchange(device, job, device->loaded ? &device->loaded_epoch : NULL);
        if (status != RBD_WAS_RESET)
            return status;
    }
    return rbd_internal_fail(device, RBD_ERROR_RESET,
                             "device: was reset %d times during one call; check its power supply and its reset",
                             RESETS);
}

int rbd_internal_load_first(rbd_device *device)
{
    return rbd_internal_held_exchange(device, NULL);
}

/* Gives a program's parameters these values: all of them, or none where one is refused. */
static int calibrate_program(rbd_device *device, size_t count, const char *const *names, const double *values)
{
    const rbd_design *design = device->design;
    for (size_t k = 0; k < count; k++) {
        const size_t number = parameter_number(design, names[k]);
        const rbd_parameter *p = &design->parameter[number];
        const int64_t raw = raw_value(design, number, values[k]);
        if (raw < p->lower || raw > p->upper)
            return rbd_internal_fail(device, RBD_ERROR_PARAMETER, "parameter %.80s: must be %.6g to %.6g, not %.6g",
                                     p->name, rbd_value(p->lower, p->frac), rbd_value(p->upper, p->frac), values[k]);
    }
    for (size_t k = 0; k < count; k++) {
        const size_t number = parameter_number(design, names[k]);
        hold(device, number, raw_value(design, number, values[k]));
    }
    device->whole = 0;
    return rbd_internal_held_exchange(device, NULL);
}

/* That what is to be loaded can be meant: parameters that there are, each once, and numbers. */
static int check_given(rbd_device *device, size_t count, const char *const *names, const double *values)
{
    const rbd_design *design = device->design;
    if (count && (!names || !values))
        return rbd_internal_fail(device, RBD_ERROR_ARGUMENT, "%s: must not be NULL; give an array of %lu",
                                 names ? "values" : "names", (unsigned long)count);
    for (size_t k = 0; k < count; k++) {
        if (!names[k])
            return rbd_internal_fail(device, RBD_ERROR_ARGUMENT, "names[%lu]: must not be NULL", (unsigned long)k);
        if (parameter_number(design, names[k]) == design->parameters)
            return rbd_internal_fail(device, RBD_ERROR_PARAMETER,
                                     "parameter %.80s: this accelerator has no such, but %lu others%s", names[k],
                                     (unsigned long)design->parameters,
                                     design->parameters ? ", see its header" : "; build with --calibratable");
        if (!rbd_internal_finite(values[k]))
            return rbd_internal_fail(device, RBD_ERROR_ARGUMENT, "parameter %.80s: must be finite, not %g", names[k],
                                     values[k]);
        for (size_t j = 0; j < k; j++)
            if (strcmp(names[j], names[k]) == 0)
                return rbd_internal_fail(device, RBD_ERROR_ARGUMENT, "parameter %.80s: is given twice", names[k]);
    }
    return RBD_OK;
}

static int calibrate(rbd_device *device, const rbd_design *design, size_t count, const char *const *names,
                     const double *values)
{
    int status = rbd_internal_begin(device, design);
    if (status == RBD_OK)
        status = check_given(device, count, names, values);
    if (status != RBD_OK || count == 0)
        return status;
    if (device->software)
        return rbd_internal_fail(device, RBD_ERROR_PARAMETER,
                                 "parameter %.80s: software has none; write it again for the other robot", names[0]);
    if (design->program)
        return calibrate_program(device, count, names, values);
    if (!device->loaded) {
        status = rbd_internal_meet(device);
        if (status != RBD_OK)
            return status;
        device->loaded = 1;
        device->loaded_epoch = device->epoch;
    }
    loading l = load(device, count, names, values);
    status = rbd_internal_held_exchange(device, &l.job);
    return status == RBD_OK ? check(&l) : status;
}

int rbd_calibrate(rbd_device *device, const rbd_design *design, size_t count, const char *const *names,
                  const double *values)
{
    int status = rbd_internal_enter(device);
    if (status != RBD_OK)
        return status;
    status = calibrate(device, design, count, names, values);
    rbd_internal_leave(device);
    return status;
}
