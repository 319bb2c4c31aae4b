/* What the library's files share among themselves; not for its users. */
#ifndef RBDGEN_INTERNAL_H
#define RBDGEN_INTERNAL_H

#include "rbdgen_device.h"

#define RBD_FRAME_BYTES 7 /* of a frame beside its payload: kind, length, CRC-32 */
#define RBD_HEAD_BYTES 3
#define RBD_KIND_TASK 1
#define RBD_KIND_HELLO 2
#define RBD_LOAD_CODE 15
#define RBD_NO_TAG 0xFFFFu

/* Inside: the device was reset while it had to keep what it was told. */
#define RBD_WAS_RESET (-1)

/* Tasks of one exchange by their numbers, and what becomes of them. */
typedef struct rbd_job {
    size_t count;
    void (*begin)(struct rbd_job *job); /* nothing is answered yet, or no longer */
    size_t (*size)(const struct rbd_job *job, size_t task);
    void (*pack)(const struct rbd_job *job, size_t task, unsigned char *packet);
    void (*answer)(struct rbd_job *job, size_t task, const unsigned char *packet, size_t length);
    void (*lose)(struct rbd_job *job, size_t task);
} rbd_job;

/* Sets the device's message, and returns `status`. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
int rbd_internal_fail(rbd_device *device, int status, const char *format, ...);

/* What opening begins with: an empty device of this design. */
int rbd_internal_prepare(rbd_device *device, const rbd_design *design);

/* That a call of `design` can be made, before which there is nothing to note. */
int rbd_internal_begin(rbd_device *device, const rbd_design *design);

/* rbdgen_frames.c: `send` puts a frame among the bytes to be sent, `flush` sends them. `next_frame` finds the next
 * frame in what came, waiting for more until the clock shows `until`: 1, with its kind, payload and length; 0 where
 * none comes; or minus a status. Without `wait` only what is there already is looked at. */
int rbd_internal_send(rbd_device *device, unsigned kind, const unsigned char *payload, size_t length);
int rbd_internal_flush(rbd_device *device);
int rbd_internal_next_frame(rbd_device *device, int wait, uint64_t until, unsigned *kind,
                            const unsigned char **payload, size_t *length);
uint64_t rbd_internal_now(const rbd_device *device);

/* rbdgen_packets.c */
int64_t rbd_internal_quantise(double value, unsigned width, int frac);
void rbd_internal_pack(const rbd_design *design, const rbd_function *function, const double *const *operands,
                       size_t state, unsigned char *packet);
unsigned rbd_internal_unpack(const rbd_design *design, const rbd_function *function, const unsigned char *packet,
                             double *const *results, size_t state);
void rbd_internal_pack_parameter(const rbd_design *design, size_t number, int64_t raw, unsigned char *packet);
void rbd_internal_set_tag(unsigned char *packet, unsigned tag);
void rbd_internal_header(const unsigned char *packet, unsigned *code, unsigned *tag, unsigned *flags);

/* rbdgen_hello.c: send a hello behind so many tasks; take an answer to one (1, and how many were sent before it; 0 if it
 * answers none; or minus a status); ask the device who it is. `since` and `measured` say how the line was. */
int rbd_internal_ask(rbd_device *device, uint32_t serial);
int rbd_internal_accept(rbd_device *device, const unsigned char *payload, size_t length, uint32_t *before);
int rbd_internal_hello(rbd_device *device);
void rbd_internal_since(const rbd_device *device, const rbd_counters *before, rbd_counters *change);
void rbd_internal_measured(const rbd_device *device, const rbd_counters *before, char *text, size_t size);

/* rbdgen_link.c: exchange a job's tasks for their results, all of `epoch` where it is given, else RBD_WAS_RESET. */
int rbd_internal_exchange(rbd_device *device, rbd_job *job, const uint32_t *epoch);

/* rbdgen_checks.c: that a request, and all beside each other, can be meant. */
int rbd_internal_check_request(rbd_device *device, const rbd_request *request);
int rbd_internal_check_apart(rbd_device *device, const rbd_request *requests, size_t count);

/* rbdgen_calibration.c: an exchange by a device that holds what was loaded. */
int rbd_internal_held_exchange(rbd_device *device, rbd_job *job);

/* rbdgen_software.c: one request; its flagged tasks are counted by the caller. */
void rbd_internal_run_software(const rbd_device *device, const rbd_request *request,
                               void (*tell)(void *context, size_t state, unsigned flags), void *context);

#endif
