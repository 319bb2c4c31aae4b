/* What the library's files share among themselves; not for its users. */
#ifndef RBDGEN_INTERNAL_H
#define RBDGEN_INTERNAL_H

#include "rbdgen_device.h"

#define RBD_FRAME_BYTES 7 /* of a frame beside its payload: kind, length, CRC-32 */
#define RBD_HEAD_BYTES 3
#define RBD_KIND_TASK 1
#define RBD_KIND_HELLO 2
#define RBD_LOAD_CODE 15
#define RBD_PROGRAM_CODE 31 /* of packets that write into an engine */
#define RBD_PROGRAM_PACKET_BYTES 48
#define RBD_NO_TAG 0xFFFFu
#define RBD_DATAGRAM_VERSION 2
#define RBD_DATAGRAM_HEAD 12     /* bytes before a datagram's body: kind and marks, session, number */
#define RBD_DATAGRAM_OVERHEAD 16 /* ... and its CRC-32 */
#define RBD_DATAGRAM_TASKS 1
#define RBD_DATAGRAM_HELLO 2
#define RBD_DATAGRAM_OPEN 3
#define RBD_STATUS_BYTES 52      /* of a status over datagrams, and of the body of a request for one */
#define RBD_PROBE_TAG 255        /* over datagrams no task's that anybody waits for */

/* Inside: the device was reset while it had to keep what it was told. */
#define RBD_WAS_RESET (-1)

/* Whether a tag is free; or its task in flight, over datagrams perhaps without anybody who waits for its result. */
enum { RBD_LANDED = 0, RBD_FLYING = 1, RBD_ABANDONED = 2 };

/* Tasks of one exchange by their numbers, and what becomes of them. */
typedef struct rbd_job {
    size_t count;
    void (*begin)(struct rbd_job *job); /* nothing is answered yet, or no longer */
    size_t (*size)(const struct rbd_job *job, size_t task);
    void (*pack)(const struct rbd_job *job, size_t task, unsigned char *packet);
    void (*answer)(struct rbd_job *job, size_t task, const unsigned char *packet, size_t length);
    void (*lose)(struct rbd_job *job, size_t task);
} rbd_job;

/* One exchange of a job's tasks, all of `epoch` where it is given. */
typedef struct {
    rbd_device *device;
    rbd_job *job;
    const uint32_t *epoch;
    size_t next, done;                            /* tasks that were sent once; that are answered, or lost, for good */
    uint64_t quiet, any_progress, task_progress; /* when the clock shows that, it was too long */
    uint32_t silent;                              /* hellos since the last progress */
    rbd_counters before;
} rbd_exchange;

/* Sets the device's message, and returns `status`. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
int rbd_internal_fail(rbd_device *device, int status, const char *format, ...);

/* What opening begins with: an empty device of this design. */
int rbd_internal_prepare(rbd_device *device, const rbd_design *design);

/* Whether a call may begin, because no other is under way, which it is then until `leave`; RBD_OK, or a status. */
int rbd_internal_enter(rbd_device *device);
void rbd_internal_leave(rbd_device *device);

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
uint32_t rbd_internal_crc(uint32_t crc, const unsigned char *data, size_t size);

/* rbdgen_datagrams.c: `post` sends the datagram whose body of so many bytes is in `out` behind its head. `next_datagram`
 * is the next that came whole until the clock shows `until`, as above. */
typedef struct {
    unsigned kind, version, marks;
    uint32_t session, number;
    const unsigned char *body;
    size_t length;
} rbd_datagram;

int rbd_internal_post(rbd_device *device, const rbd_datagram *datagram);
int rbd_internal_request(rbd_device *device, unsigned kind, uint32_t session, uint32_t nonce);
int rbd_internal_next_datagram(rbd_device *device, uint64_t until, rbd_datagram *datagram);

/* rbdgen_packets.c */
int64_t rbd_internal_quantise(double value, unsigned width, int frac);
void rbd_internal_pack(const rbd_design *design, const rbd_function *function, const double *const *operands,
                       size_t state, unsigned char *packet);
unsigned rbd_internal_unpack(const rbd_design *design, const rbd_function *function, const unsigned char *packet,
                             double *const *results, size_t state);
void rbd_internal_pack_parameter(const rbd_design *design, size_t number, int64_t raw, unsigned char *packet);
void rbd_internal_set_tag(unsigned char *packet, unsigned tag);
void rbd_internal_header(const unsigned char *packet, unsigned *code, unsigned *tag, unsigned *flags);

/* rbdgen_hello.c: `new_ask` notes a hello that is about to be sent; `asked` finds and forgets it, and those before it,
 * where an answer has its nonce. `check_device` is whether who answered is the right device. `ask` sends a hello over
 * bytes behind so many tasks; `accept` takes an answer to one (1, and how many were sent before it; 0 if it answers none;
 * or minus a status); `hello` asks the device who it is. `since` and `measured` say how the line was. */
uint32_t rbd_internal_random(rbd_device *device);
rbd_asked *rbd_internal_new_ask(rbd_device *device);
int rbd_internal_asked(rbd_device *device, uint32_t nonce, rbd_asked *asked);
int rbd_internal_check_device(rbd_device *device, unsigned version, unsigned known, const unsigned char *identity);
uint32_t rbd_internal_number_at(const unsigned char *bytes);
int rbd_internal_ask(rbd_device *device, uint32_t serial);
int rbd_internal_accept(rbd_device *device, const unsigned char *payload, size_t length, uint32_t *before);
int rbd_internal_hello(rbd_device *device);
void rbd_internal_since(const rbd_device *device, const rbd_counters *before, rbd_counters *change);
void rbd_internal_measured(const rbd_device *device, const rbd_counters *before, char *text, size_t size);
const char *rbd_internal_remedy(const rbd_device *device);

/* rbdgen_exchange.c: what exchanges over bytes and over datagrams share. `start` begins one: tags that are not busy are
 * free. Tags wait in the order in which they became free. `upcoming` is the task that is sent so many tasks later,
 * where there is one; `depart` puts the next one in flight, its packet is the device's. */
void rbd_internal_start(rbd_exchange *x);
void rbd_internal_progress(rbd_exchange *x);
void rbd_internal_finish(rbd_exchange *x);
void rbd_internal_free_tag(rbd_device *device, uint8_t tag);
int rbd_internal_upcoming(const rbd_exchange *x, size_t later, size_t *task);
uint8_t rbd_internal_depart(rbd_exchange *x, uint32_t serial, uint32_t cost);
void rbd_internal_lost(rbd_exchange *x, uint8_t tag);
int rbd_internal_failure(rbd_exchange *x);
int rbd_internal_no_room(rbd_device *device, uint32_t room, uint32_t cost);

/* rbdgen_calibration.c: `held` is whether a parameter was given a value, and its raw one. `held_exchange` is an
 * exchange of a device that holds what was loaded; `load_first` is one without tasks, of a device that was opened. */
int rbd_internal_held(const rbd_device *device, size_t number, int64_t *raw);
int rbd_internal_load_first(rbd_device *device);

/* rbdgen_program.c: loads the program, with the parameters that are held, unless it is there, in this epoch; RBD_OK, or a
 * status. */
int rbd_internal_load_program(rbd_device *device, const uint32_t *epoch);

/* rbdgen_opening.c: `open_session` begins a session; `take_status` takes a status that answers a hello: 1, 0 if this is
 * none, or minus a status. */
typedef struct {
    rbd_asked asked;
    uint32_t session, epoch, room, taken, told;
} rbd_status;

int rbd_internal_open_session(rbd_device *device);
int rbd_internal_take_status(rbd_device *device, const rbd_datagram *datagram, rbd_status *status);

/* rbdgen_link.c, rbdgen_session.c: exchange a job's tasks for their results, all of `epoch` where it is given, else
 * RBD_WAS_RESET. `meet` asks who the device is, where that is not known. */
int rbd_internal_meet(rbd_device *device);
int rbd_internal_exchange(rbd_device *device, rbd_job *job, const uint32_t *epoch);
int rbd_internal_byte_exchange(rbd_exchange *x);
int rbd_internal_datagram_exchange(rbd_exchange *x);

/* rbdgen_checks.c: that a number is finite, that a request, and all beside each other, can be meant. */
int rbd_internal_finite(double value);
int rbd_internal_check_request(rbd_device *device, const rbd_request *request);
int rbd_internal_check_apart(rbd_device *device, const rbd_request *requests, size_t count);

/* rbdgen_calibration.c: an exchange by a device that holds what was loaded. */
int rbd_internal_held_exchange(rbd_device *device, rbd_job *job);

/* rbdgen_software.c: one request; its flagged tasks are counted by the caller. */
void rbd_internal_run_software(const rbd_device *device, const rbd_request *request,
                               void (*tell)(void *context, size_t state, unsigned flags), void *context);

#endif
