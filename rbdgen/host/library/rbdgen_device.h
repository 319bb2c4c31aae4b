/* The host's side of an accelerator behind a stream of bytes or datagrams, in C99: open a device, call its functions.
 *
 * What a design computes, and its typed calls, are in the header that was generated beside this one. Nothing here has
 * global state or allocates memory: all that a device needs is a rbd_device and a workspace, both the caller's.
 * Different devices may be used by different threads. One device is used by one at a time: a call that meets another
 * is RBD_ERROR_BUSY and does nothing. Threads that share a device lock it themselves around a call and what is read of
 * its message and note; where the compiler has no atomic functions like GCC's, they must.
 *
 * Every call that can fail returns RBD_OK or a code below, and rbd_message() says in one line what is wrong and what
 * to do. No call waits without end (rbd_limits). The protocol is docs/protocol.md of rbdgen.
 */
#ifndef RBDGEN_DEVICE_H
#define RBDGEN_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of the structures below; a design's tables say for which one they were written. */
#define RBD_VERSION 4

enum {
    RBD_OK = 0,
    RBD_ERROR_ARGUMENT,  /* a pointer, count, name or number that cannot be meant */
    RBD_ERROR_CLOSED,    /* the device is not open */
    RBD_ERROR_PORT,      /* the port or connection cannot be opened */
    RBD_ERROR_GONE,      /* the port or connection ended */
    RBD_ERROR_STUCK,     /* it takes no bytes */
    RBD_ERROR_SILENT,    /* the device does not answer: not programmed, another baud rate, cut off */
    RBD_ERROR_PROTOCOL,  /* it speaks another version of the protocol */
    RBD_ERROR_DESIGN,    /* it holds another design */
    RBD_ERROR_ROOM,      /* it has no room for a single task */
    RBD_ERROR_LINE,      /* too many frames come damaged */
    RBD_ERROR_LOST,      /* tasks, or parameters that were loaded again, were lost for good */
    RBD_ERROR_RESET,     /* it was reset again and again during one call */
    RBD_ERROR_PARAMETER, /* a parameter that there is not, or outside its declared range */
    RBD_ERROR_SOFTWARE,  /* the software is of another robot, or lacks a function */
    RBD_ERROR_OWNED,     /* it is in use by another host */
    RBD_ERROR_BUSY       /* another call on it is not over */
};

/* Bits of a task's flags. The last one is the host's own. */
enum {
    RBD_FLAG_OVERFLOW = 1, /* something inside overflowed: the result is not to be trusted */
    RBD_FLAG_RANGE = 2,    /* an operand was outside its declared range */
    RBD_FLAG_FUNCTION = 4, /* the accelerator has no such function */
    RBD_FLAG_LOST = 128    /* the task was lost for good, or the call failed: there is no result */
};

/* ---- What a design is: tables that are generated ---- */

/* Numbers that must be of unit length together: those of a joint, (cos, sin) or a quaternion. */
typedef struct {
    const char *joint;
    uint32_t first, size;
} rbd_unit;

/* A vector or matrix: its name, and the numbers that a state has of it (row-major); whether they must be whole, and
 * which must be of unit length. */
typedef struct {
    const char *name;
    uint32_t size;
    int whole;
    size_t units;
    const rbd_unit *unit;
} rbd_vector;

/* An operand word: value = raw * 2^-frac, of `width` bits; entry `entry` of vector `vector`; inclusive raw limits. */
typedef struct {
    uint32_t entry;
    uint16_t vector;
    uint8_t width;
    int16_t frac;
    int64_t lower, upper;
} rbd_operand;

/* A result word. `mirror` is the entry across the diagonal of a symmetric matrix, else `entry` again. */
typedef struct {
    uint32_t entry, mirror;
    uint16_t vector;
    uint8_t width;
    int16_t frac;
} rbd_result;

typedef struct {
    const char *name;
    uint8_t code;
    size_t operand_vectors, result_vectors, operand_words, result_words;
    const rbd_vector *takes, *gives;
    const rbd_operand *operands;
    const rbd_result *results;
    size_t task_bytes, result_bytes; /* of packets */
} rbd_function;

typedef struct {
    const char *name;
    uint8_t width;
    int16_t frac;
    int64_t lower, upper;
} rbd_parameter;

/* The bits of each place of a beat, the lowest first. */
typedef struct {
    const uint8_t *places;
    size_t count, beat_bytes;
} rbd_packing;

#define RBD_IDENTITY_BYTES 16

#define RBD_BLOCK_WORDS 11
#define RBD_SLOT_WORDS 32

/* A program for an engine that is on a board once and for all: the engine's identity, its slot in the directory, the
 * words of the packets that write it, those that write its functions last (`needed` come before), and where its
 * parameters are among constants. */
typedef struct {
    uint8_t engine[RBD_IDENTITY_BYTES];
    uint16_t slot[RBD_SLOT_WORDS];
    size_t blocks, needed;
    const uint32_t (*block)[RBD_BLOCK_WORDS];
    uint32_t parameter, parameter_step;
} rbd_program;

typedef struct {
    int version; /* RBD_VERSION */
    const char *name, *robot;
    uint8_t identity[RBD_IDENTITY_BYTES];
    size_t functions, parameters;
    const rbd_function *function;
    const rbd_parameter *parameter;
    rbd_packing task, result;
    size_t longest_task, longest_answer, load_bytes; /* packets, and of a task that loads a parameter */
    const rbd_program *program; /* NULL for hardware of its own */
} rbd_design;

/* ---- How a device is reached ---- */

/* Bytes to and from a device, in order, possibly damaged; or datagrams, each written and read as a whole, which may be
 * lost, come twice and in another order. All but `random` must be there.
 *
 * read: wait at most so long for bytes, and return how many came; 0 if none did, -1 if the other end is gone.
 * write: send all of `data`; RBD_OK, RBD_ERROR_GONE, or RBD_ERROR_STUCK where none of it is taken for so long.
 * milliseconds: a clock that never goes back. random: any bits; without it, the clock's (rbd_open).
 * datagrams: not 0 where these are datagrams. That the other end is gone is then no more than silence, but for a device
 * that never answered: a network says it of a cable that is pulled. */
typedef struct {
    void *context;
    const char *name; /* for messages, such as "port /dev/ttyUSB0" */
    ptrdiff_t (*read)(void *context, void *data, size_t size, uint32_t milliseconds);
    int (*write)(void *context, const void *data, size_t size, uint32_t milliseconds);
    void (*close)(void *context);
    uint64_t (*milliseconds)(void *context);
    uint32_t (*random)(void *context);
    int datagrams;
} rbd_transport;

/* When a device is given up. */
typedef struct {
    uint32_t attempts; /* how often a task is sent before it counts as lost */
    uint32_t patience; /* hellos in a row without an answer before the device counts as silent; of bytes only */
    uint32_t quiet;    /* ms of silence after which it is asked whether something was lost; of datagrams the most */
    uint32_t progress; /* ms without progress, whatever comes meanwhile; three times as long if hellos are answered */
    uint32_t write;    /* ms that it may take no bytes */
} rbd_limits;

/* What is taken where rbd_open gets no limits. */
#define RBD_LIMITS {100, 10, 500, 10000, 5000}

/* What a device went through since it was opened: tasks sent (again, too) and lost on the way, hellos sent, frames
 * that came whole or damaged, those that answer nothing in flight, and resets after which parameters or a program were
 * loaded. */
typedef struct {
    uint64_t sent, lost, hellos, whole, damaged, stray, reloads;
} rbd_counters;

/* ---- The same functions in software ---- */

/* A table that another file may have defined alike already. Operands and results are arrays in the order of the
 * function's vectors, row-major, one state after the other. */
#ifndef RBD_SOFTWARE_TABLE
#define RBD_SOFTWARE_TABLE
typedef struct {
    const char *function;
    size_t operands, results;
    void (*batch)(size_t count, const double *const *operands, double *const *results);
} rbd_software_function;

typedef struct {
    const char *robot;
    size_t count;
    const rbd_software_function *functions;
} rbd_software;
#endif

/* ---- A device ---- */

#define RBD_TEXT_BYTES 512
#define RBD_CHUNK_BYTES 1472 /* of what comes or is sent at once: the most of a datagram */
#define RBD_TAGS 256
#define RBD_CODES 32
#define RBD_HELLOS 32

/* A task on its way, or to be sent again with the same tag. */
typedef struct {
    size_t task;
    uint32_t serial, tries, cost; /* serial: of datagrams the number of the last that it is in */
    uint16_t next;                /* tag of the next one of its function */
    uint8_t code, busy;
} rbd_flight;

/* A hello that may yet be answered, and how many tasks (of datagrams: datagrams) were sent before it. Of datagrams, what
 * was known then: the device expects none below `taken`, and its results below `told` came. */
typedef struct {
    uint32_t nonce, serial, taken, told;
} rbd_asked;

/* A device's state. Its content is not public, but for `counters` and what the calls below give. */
typedef struct {
    int version, is_open, busy;
    const rbd_design *design;
    const rbd_software *software;
    rbd_transport transport;
    rbd_limits limits;
    rbd_counters counters;
    char message[RBD_TEXT_BYTES], note[RBD_TEXT_BYTES];
    uint64_t random;
    /* bytes that came, the frame that they build, and bytes to be sent */
    unsigned char in[RBD_CHUNK_BYTES], out[RBD_CHUNK_BYTES];
    size_t in_begin, in_end, out_end;
    unsigned char *frame, *packet, *held;
    size_t frame_size, frame_length;
    int frame_bad, frame_escaped, frame_done;
    /* what the device last said of itself */
    int known, amid;
    uint32_t epoch, room, first_tag; /* of datagrams the epoch is the session */
    /* a session: numbers of the next datagrams both ways, which results came of those behind, a part of a result */
    uint32_t sent, taken, told, left, reset_epoch, part_number;
    uint32_t came[RBD_TAGS / 32];
    size_t part_length;
    int met, taken_over, lost_way;
    /* the epoch in which it holds what was loaded; the slot of a program that is there, -1 where that is not known, and
     * whether all of it is there */
    int loaded, program_slot, whole;
    uint32_t loaded_epoch;
    /* an exchange */
    rbd_flight flights[RBD_TAGS];
    uint8_t tags[RBD_TAGS], again[RBD_TAGS];
    uint16_t head[RBD_CODES], tail[RBD_CODES];
    rbd_asked asked[RBD_HELLOS];
    size_t tags_begin, tags_count, again_begin, again_count, asked_begin, asked_count, flying;
} rbd_device;

/* Bytes of workspace of a design with a longest task, a longest answer and so many parameters. */
#define RBD_WORKSPACE_BYTES(task, answer, parameters) ((size_t)(task) + (answer) + 7 + 9 * (size_t)(parameters))

/* Bytes of workspace that a device of this design needs. */
size_t rbd_workspace_bytes(const rbd_design *design);

/* Ask what is behind `transport`, and keep it if it is this design; else an error. The workspace is the device's until
 * it is closed, and the transport is closed with it, or here where this fails. `limits` may be NULL (RBD_LIMITS).
 * A program is loaded into its engine, unless it is there. Where `transport` has no `random`, two sessions should not begin at the same time of its clock. */
int rbd_open(rbd_device *device, const rbd_design *design, const rbd_transport *transport, void *workspace,
             size_t workspace_bytes, const rbd_limits *limits);

/* A device that is answered by software: the same calls, the same flags for operands outside their declared ranges,
 * results in float64. RBD_FLAG_OVERFLOW says that a result is not finite. */
int rbd_open_software(rbd_device *device, const rbd_design *design, const rbd_software *software);

/* Let go of it, when no call on it is under way. What was never opened must not be closed; closing twice does nothing. */
void rbd_close(rbd_device *device);

/* What is wrong, of the last call that failed: one line. */
const char *rbd_message(const rbd_device *device);

/* What the last call wants known though it was answered, in one line; empty if nothing: tasks that were flagged, or
 * parameters or a program that were loaded again after a reset. */
const char *rbd_note(const rbd_device *device);

/* A status code in a few words. */
const char *rbd_status_text(int status);

/* Tasks of one function, the design's `function`: `count` states. Operands and results are an array for each vector of
 * the function, row-major, one state after the other; symmetric matrices are full, entries without a word are zero.
 * `flags` (count) may be NULL. Results must not overlap operands or each other. */
typedef struct {
    size_t function, count;
    const double *const *operands;
    double *const *results;
    uint8_t *flags;
} rbd_request;

/* All tasks of all requests, many in flight at once. `design` is the one that was opened.
 *
 * RBD_ERROR_ARGUMENT, RBD_ERROR_CLOSED and RBD_ERROR_BUSY write nothing. Whatever else it returns, all results and flags
 * are written. Where tasks were lost for good their results are NaN and their flags RBD_FLAG_LOST, and all others are
 * right; where anything else ends the call, that is so of all tasks. */
int rbd_solve(rbd_device *device, const rbd_design *design, const rbd_request *requests, size_t count);

/* One request. */
int rbd_call(rbd_device *device, const rbd_design *design, size_t function, size_t count,
             const double *const *operands, double *const *results, uint8_t *flags);

/* The first operand word of a state, of those from number `from` on, that is outside its declared range as the hardware
 * sees it: a number among the function's `operands`, which have the word's vector, entry and limits; `operand_words`
 * where there is none. `design` has the function, and `operands` are as in a request. */
size_t rbd_outside(const rbd_design *design, size_t function, const double *const *operands, size_t state, size_t from);

/* The value of a raw number of a word with `frac` bits behind the binary point, such as its limits. */
double rbd_value(int64_t raw, int frac);

/* Load so many parameters by name. Where the device is reset they are loaded again, the call's tasks repeated, and a
 * note says so. Of values that are refused the others are loaded, but of a program's all or none. */
int rbd_calibrate(rbd_device *device, const rbd_design *design, size_t count, const char *const *names,
                  const double *values);

#ifdef __cplusplus
}
#endif

#endif
