/* A function of many states as a custom call of XLA, whose C interface is in xla_ffi.h. It has at most RBD_ARRAYS
 * operands, and as many results. */
#include <stdio.h>
#include "xla_ffi.h"

/* Computes so many states, from arrays to arrays; returns how many are singular. */
typedef size_t rbd_run(size_t count, void **in, void **out);

/* XLA asks which version of its interface this was compiled for. */
static void rbd_tell_version(XLA_FFI_Metadata *metadata)
{
    metadata->api_version.major_version = XLA_FFI_API_MAJOR;
    metadata->api_version.minor_version = XLA_FFI_API_MINOR;
    metadata->traits = 0;
}

static XLA_FFI_Error *rbd_error(const XLA_FFI_CallFrame *frame, const char *message)
{
    XLA_FFI_Error_Create_Args error = {0};
    error.struct_size = sizeof error;
    error.message = message;
    error.errc = XLA_FFI_Error_Code_INVALID_ARGUMENT;
    return frame->api->XLA_FFI_Error_Create(&error);
}

/* The first operand, of which a state has one dimension, says how many states there are. */
static XLA_FFI_Error *rbd_call(XLA_FFI_CallFrame *frame, const char *name, rbd_run *run)
{
    /* versions of the interface have another name for the type of what an extension begins with */
    XLA_FFI_Metadata_Extension *extension = (XLA_FFI_Metadata_Extension *)frame->extension_start;
    if (extension != NULL && extension->extension_base.type == XLA_FFI_Extension_Metadata) {
        rbd_tell_version(extension->metadata);
        return NULL;
    }
    void *in[RBD_ARRAYS], *out[RBD_ARRAYS];
    for (int64_t i = 0; i < frame->args.size; i++)
        in[i] = ((XLA_FFI_Buffer *)frame->args.args[i])->data;
    for (int64_t i = 0; i < frame->rets.size; i++)
        out[i] = ((XLA_FFI_Buffer *)frame->rets.rets[i])->data;
    const XLA_FFI_Buffer *first = frame->args.args[0];
    size_t count = 1;
    for (int64_t i = 0; i + 1 < first->rank; i++)
        count *= (size_t)first->dims[i];
    const size_t singular = count == 0 ? 0 : run(count, in, out);
    if (singular == 0)
        return NULL;
    char message[256];
    snprintf(message, sizeof message,
             "%s: a matrix that it inverts is not positive definite at %zu of %zu states; keep away from singular ones",
             name, singular, count);
    return rbd_error(frame, message);
}
