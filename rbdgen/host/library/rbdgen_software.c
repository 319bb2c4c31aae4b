/* A device that is answered by software: the same calls and flags, results in float64. */
#include <string.h>

#include "rbdgen_internal.h"

static const rbd_software_function *software_function(const rbd_software *software, const char *name)
{
    for (size_t k = 0; k < software->count; k++)
        if (software->functions[k].function && strcmp(software->functions[k].function, name) == 0)
            return &software->functions[k];
    return NULL;
}

int rbd_open_software(rbd_device *device, const rbd_design *design, const rbd_software *software)
{
    if (!device)
        return RBD_ERROR_ARGUMENT;
    const int status = rbd_internal_prepare(device, design);
    if (status != RBD_OK)
        return status;
    if (!software || !software->robot || !software->functions)
        return rbd_internal_fail(device, RBD_ERROR_ARGUMENT, "software: must not be NULL; give a table of functions");
    if (strcmp(software->robot, design->robot) != 0)
        return rbd_internal_fail(device, RBD_ERROR_SOFTWARE,
                                 "software: is of robot %.80s, not %.80s; write it again for that robot",
                                 software->robot, design->robot);
    for (size_t k = 0; k < design->functions; k++) {
        const rbd_function *function = &design->function[k];
        const rbd_software_function *found = software_function(software, function->name);
        if (!found || !found->batch)
            return rbd_internal_fail(device, RBD_ERROR_SOFTWARE,
                                     "software: has no function %.80s, as design %.80s has; write it with that one",
                                     function->name, design->name);
        if (found->operands != function->operand_vectors || found->results != function->result_vectors)
            return rbd_internal_fail(device, RBD_ERROR_SOFTWARE,
                                     "software: %.80s has %lu operands and %lu results, not %lu and %lu; write it "
                                     "with the design's options",
                                     function->name, (unsigned long)found->operands, (unsigned long)found->results,
                                     (unsigned long)function->operand_vectors,
                                     (unsigned long)function->result_vectors);
    }
    device->software = software;
    device->is_open = 1;
    return RBD_OK;
}

/* Whether all results of a state are finite. */
static int all_finite(const rbd_function *function, double *const *results, size_t state)
{
    for (size_t k = 0; k < function->result_vectors; k++) {
        const size_t size = function->gives[k].size;
        for (size_t entry = 0; entry < size; entry++)
            if (!rbd_internal_finite(results[k][state * size + entry]))
                return 0;
    }
    return 1;
}

void rbd_internal_run_software(const rbd_device *device, const rbd_request *request,
                               void (*tell)(void *context, size_t state, unsigned flags), void *context)
{
    const rbd_function *function = &device->design->function[request->function];
    if (request->count == 0)
        return;
    software_function(device->software, function->name)->batch(request->count, request->operands, request->results);
    for (size_t state = 0; state < request->count; state++) {
        unsigned flags = 0;
        if (rbd_outside(device->design, request->function, request->operands, state, 0) < function->operand_words)
            flags |= RBD_FLAG_RANGE;
        if (!all_finite(function, request->results, state))
            flags |= RBD_FLAG_OVERFLOW;
        if (request->flags)
            request->flags[state] = (uint8_t)flags;
        tell(context, state, flags);
    }
}
