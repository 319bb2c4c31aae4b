/* Devices as their users see them: opened, asked, closed, and what went wrong in words. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rbdgen_internal.h"

/* Whether GCC and compilers like it need no library for it here. */
#if defined(__GCC_ATOMIC_INT_LOCK_FREE) && __GCC_ATOMIC_INT_LOCK_FREE == 2
#define ATOMIC 1
#endif

int rbd_internal_fail(rbd_device *device, int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(device->message, sizeof device->message, format, arguments);
    va_end(arguments);
    return status;
}

const char *rbd_message(const rbd_device *device)
{
    return device ? device->message : "device: must not be NULL";
}

const char *rbd_note(const rbd_device *device)
{
    return device ? device->note : "";
}

const char *rbd_status_text(int status)
{
    static const char *const TEXTS[] = {"done",
                                        "an argument that cannot be meant",
                                        "the device is not open",
                                        "the port cannot be opened",
                                        "the port is gone",
                                        "the port takes no bytes",
                                        "the device does not answer",
                                        "the device speaks another version of the protocol",
                                        "the device holds another design",
                                        "the device has no room for a task",
                                        "the line is too bad",
                                        "tasks were lost for good",
                                        "the device was reset again and again",
                                        "a parameter is refused",
                                        "the software does not fit",
                                        "the device is another host's",
                                        "another call on the device is not over"};
    const size_t count = sizeof TEXTS / sizeof *TEXTS;
    return status >= 0 && (size_t)status < count ? TEXTS[status] : "no status of this library";
}

size_t rbd_workspace_bytes(const rbd_design *design)
{
    return design ? RBD_WORKSPACE_BYTES(design->longest_task, design->longest_answer, design->parameters) : 0;
}

/* What rbd_open and rbd_open_software begin with. */
int rbd_internal_prepare(rbd_device *device, const rbd_design *design)
{
    memset(device, 0, sizeof *device);
    if (!design)
        return rbd_internal_fail(device, RBD_ERROR_ARGUMENT, "design: must not be NULL; give the generated one");
    if (design->version != RBD_VERSION)
        return rbd_internal_fail(device, RBD_ERROR_ARGUMENT,
                                 "design %.80s: written for version %d of this library, which is version %d; write "
                                 "both again",
                                 design->name, design->version, RBD_VERSION);
    device->design = design;
    return RBD_OK;
}

static int check_transport(rbd_device *device, const rbd_transport *transport)
{
    const char *lacking = NULL;
    if (!transport)
        return rbd_internal_fail(device, RBD_ERROR_ARGUMENT, "transport: must not be NULL; give a port's");
    if (!transport->name)
        lacking = "name";
    if (!transport->read)
        lacking = "read";
    if (!transport->write)
        lacking = "write";
    if (!transport->close)
        lacking = "close";
    if (!transport->milliseconds)
        lacking = "milliseconds";
    if (lacking)
        return rbd_internal_fail(device, RBD_ERROR_ARGUMENT, "transport: must have its %s; only random may be NULL",
                                 lacking);
    return RBD_OK;
}

static int check_workspace(rbd_device *device, const void *workspace, size_t bytes)
{
    const size_t needed = rbd_workspace_bytes(device->design);
    if (!workspace || bytes < needed)
        return rbd_internal_fail(device, RBD_ERROR_ARGUMENT,
                                 "workspace: must have %lu bytes, not %lu; see rbd_workspace_bytes",
                                 (unsigned long)needed, (unsigned long)(workspace ? bytes : 0));
    return RBD_OK;
}

/* Shares the workspace out, and begins the numbers of hellos. */
static void furnish(rbd_device *device, unsigned char *workspace)
{
    const rbd_design *design = device->design;
    const rbd_transport *transport = &device->transport;
    device->packet = workspace;
    device->frame = workspace + design->longest_task;
    device->frame_size = design->longest_answer + RBD_FRAME_BYTES;
    device->held = device->frame + device->frame_size;
    memset(workspace, 0, rbd_workspace_bytes(design));
    device->random = rbd_internal_now(device) << 16;
    if (transport->random)
        device->random ^= (uint64_t)transport->random(transport->context) << 32 ^
                          transport->random(transport->context);
}

int rbd_open(rbd_device *device, const rbd_design *design, const rbd_transport *transport, void *workspace,
             size_t workspace_bytes, const rbd_limits *limits)
{
    static const rbd_limits USUAL = RBD_LIMITS;
    if (!device) {
        if (transport && transport->close)
            transport->close(transport->context);
        return RBD_ERROR_ARGUMENT;
    }
    int status = rbd_internal_prepare(device, design);
    if (status == RBD_OK)
        status = check_transport(device, transport);
    if (status == RBD_OK)
        status = check_workspace(device, workspace, workspace_bytes);
    if (status == RBD_OK) {
        device->transport = *transport;
        device->limits = limits ? *limits : USUAL;
        furnish(device, workspace);
        device->program_slot = -1;
        status = rbd_internal_meet(device);
    }
    if (status == RBD_OK && design->program)
        status = rbd_internal_load_first(device);
    if (status == RBD_OK)
        device->is_open = 1;
    else if (transport && transport->close)
        transport->close(transport->context);
    return status;
}

void rbd_close(rbd_device *device)
{
    if (!device || !device->is_open)
        return;
    device->is_open = 0;
    if (!device->software)
        device->transport.close(device->transport.context);
}

int rbd_internal_enter(rbd_device *device)
{
    if (!device)
        return RBD_ERROR_ARGUMENT;
    /* the message is the other call's: nothing is written */
#ifdef ATOMIC
    return __atomic_exchange_n(&device->busy, 1, __ATOMIC_ACQUIRE) ? RBD_ERROR_BUSY : RBD_OK;
#else
    if (device->busy)
        return RBD_ERROR_BUSY;
    device->busy = 1;
    return RBD_OK;
#endif
}

void rbd_internal_leave(rbd_device *device)
{
#ifdef ATOMIC
    __atomic_store_n(&device->busy, 0, __ATOMIC_RELEASE);
#else
    device->busy = 0;
#endif
}

int rbd_internal_begin(rbd_device *device, const rbd_design *design)
{
    device->note[0] = 0;
    if (!device->is_open)
        return rbd_internal_fail(device, RBD_ERROR_CLOSED, "device: is not open; open it first");
    if (!design)
        return rbd_internal_fail(device, RBD_ERROR_ARGUMENT, "design: must not be NULL; give the generated one");
    if (design != device->design && memcmp(design->identity, device->design->identity, RBD_IDENTITY_BYTES) != 0)
        return rbd_internal_fail(device, RBD_ERROR_ARGUMENT,
                                 "design %.80s: the device was opened for %.80s; call that one's functions",
                                 design->name, device->design->name);
    return RBD_OK;
}
