/* The program of an engine that is on a board once and for all: loaded when it is opened, unless it is there, and again
 * after a reset. The steps and their order are those of rbdgen/host/programs.py, what is written is as in
 * rbdgen/protocol/loading.py, and the directory as in rbdgen/protocol/directory.py. */
#include <stdio.h>
#include <string.h>

#include "rbdgen_internal.h"

#define HEADER_BYTES 4u
#define AT_ONCE 8u /* words that a packet writes */
#define ADDRESS_BITS 20
#define TARGET_BITS 3
#define PARTS 4u /* addresses of a function's entry */
#define SLOTS 8u
#define IDENTITY_WORDS 8u /* of a slot, the first */
#define VALUES_AT 21      /* in a slot: two words of a check of parameters */
#define EXTENT_AT 23      /* ... nine of what is taken */
enum { CONSTANT = 1, ROUTINE = 2, DIRECTORY = 5, READ = 7 };

/* One after the other, each when the one before is answered. */
enum { FORGET, NONE, NEEDED, VALUES, FUNCTIONS, ENTRY, IDENTITY, STEPS, SLOTS_USED, SLOTS_WHOLE };

/* A step of a load, or of reading the directory. `directory` is what that has, `gone` the slots that are in the way,
 * `there` whether the program is in one of them, and `slot` the one that it gets. */
typedef struct {
    rbd_job job;
    rbd_device *device;
    int step;
    uint16_t *directory;
    unsigned gone, slot;
    int there;
    uint16_t own[RBD_SLOT_WORDS];
    size_t refused, lost;
} writing;

static uint16_t *slot_of(const writing *w, unsigned slot)
{
    return w->directory + slot * RBD_SLOT_WORDS;
}

static int is_used(const uint16_t *slot)
{
    for (unsigned k = 0; k < IDENTITY_WORDS; k++)
        if (slot[k])
            return 1;
    return 0;
}

/* The k-th slot of those in `set`. */
static unsigned nth(unsigned set, size_t k)
{
    unsigned slot = 0;
    while (!(set >> slot & 1u) || k--)
        slot++;
    return slot;
}

static unsigned used_slots(const writing *w)
{
    unsigned set = 0;
    for (unsigned k = 0; k < SLOTS; k++)
        if (is_used(slot_of(w, k)))
            set |= 1u << k;
    return set;
}

static size_t count_of(unsigned set)
{
    size_t count = 0;
    for (; set; set &= set - 1)
        count++;
    return count;
}

/* The words of a packet that writes so many, or asks for one. */
static void block(uint32_t *words, unsigned target, uint32_t address, const uint32_t *data, unsigned count)
{
    unsigned char bytes[4 * (RBD_BLOCK_WORDS - 1)];
    memset(words, 0, RBD_BLOCK_WORDS * sizeof *words);
    words[0] = address | target << ADDRESS_BITS | (count - 1u) << (ADDRESS_BITS + TARGET_BITS);
    for (unsigned k = 0; k < count; k++)
        words[2 + k] = data[k];
    for (unsigned k = 0; k < sizeof bytes; k++)
        bytes[k] = (unsigned char)(words[k / 4] >> 8 * (k % 4) & 255u);
    words[RBD_BLOCK_WORDS - 1] = ~rbd_internal_crc(0xFFFFFFFFu, bytes, sizeof bytes);
}

/* The constant that a parameter is: what it was given, or its own. */
static uint32_t constant(const rbd_device *device, size_t number)
{
    const rbd_program *program = device->design->program;
    const uint32_t place = program->parameter + program->parameter_step * (uint32_t)number;
    int64_t raw;
    if (rbd_internal_held(device, number, &raw))
        return (uint32_t)(uint64_t)raw;
    for (size_t k = 0; k < program->needed; k++) {
        const uint32_t *words = program->block[k];
        const uint32_t address = words[0] & ((1u << ADDRESS_BITS) - 1u);
        const unsigned target = words[0] >> ADDRESS_BITS & ((1u << TARGET_BITS) - 1u);
        const uint32_t last = words[0] >> (ADDRESS_BITS + TARGET_BITS) & (AT_ONCE - 1u);
        if (target == CONSTANT && place >= address && place - address <= last)
            return words[2 + place - address];
    }
    return 0;
}

static size_t parameters_at_once(const rbd_design *design)
{
    return design->program->parameter_step == 1 ? AT_ONCE : 1;
}

/* The blocks that say that there are none of the functions that a slot has. */
static size_t none_blocks(const uint16_t *slot)
{
    return (PARTS * slot[EXTENT_AT + 1] + AT_ONCE - 1) / AT_ONCE;
}

static void none_block(const uint16_t *slot, size_t k, uint32_t *words)
{
    static const uint32_t ZEROS[AT_ONCE];
    const size_t all = PARTS * slot[EXTENT_AT + 1], done = AT_ONCE * k;
    const size_t left = all - done < AT_ONCE ? all - done : AT_ONCE;
    block(words, ROUTINE, (uint32_t)(PARTS * slot[EXTENT_AT] + done), ZEROS, (unsigned)left);
}

static void directory_block(const uint16_t *values, uint32_t address, uint32_t *words)
{
    uint32_t data[AT_ONCE];
    for (unsigned k = 0; k < AT_ONCE; k++)
        data[k] = values ? values[k] : 0;
    block(words, DIRECTORY, address, data, AT_ONCE);
}

static size_t step_count(const writing *w)
{
    const rbd_design *design = w->device->design;
    const rbd_program *program = design->program;
    size_t count;
    switch (w->step) {
    case FORGET:
        return count_of(w->gone);
    case NONE:
        count = none_blocks(w->own);
        for (size_t k = 0; k < count_of(w->gone); k++)
            count += none_blocks(slot_of(w, nth(w->gone, k)));
        return count;
    case NEEDED:
        return w->there ? 0 : program->needed;
    case VALUES:
        count = parameters_at_once(design);
        return w->there || w->own[VALUES_AT] || w->own[VALUES_AT + 1] ? (design->parameters + count - 1) / count : 0;
    case FUNCTIONS:
        return program->blocks - program->needed;
    case ENTRY:
        return (RBD_SLOT_WORDS - IDENTITY_WORDS) / AT_ONCE;
    case IDENTITY:
        return IDENTITY_WORDS / AT_ONCE;
    case SLOTS_USED:
        return SLOTS * IDENTITY_WORDS;
    default:
        return count_of(used_slots(w)) * (RBD_SLOT_WORDS - IDENTITY_WORDS);
    }
}

/* The address in the directory of a word that is asked for. */
static uint32_t asked_address(const writing *w, size_t task)
{
    const size_t rest = RBD_SLOT_WORDS - IDENTITY_WORDS;
    if (w->step == SLOTS_USED)
        return (uint32_t)(task / IDENTITY_WORDS * RBD_SLOT_WORDS + task % IDENTITY_WORDS);
    /* whether a slot is used is known by its first words, which are not asked for again */
    return (uint32_t)(nth(used_slots(w), task / rest) * RBD_SLOT_WORDS + IDENTITY_WORDS + task % rest);
}

static void values_block(const rbd_device *device, size_t k, uint32_t *words)
{
    const rbd_design *design = device->design;
    const size_t most = parameters_at_once(design), begin = most * k;
    const size_t left = design->parameters - begin < most ? design->parameters - begin : most;
    uint32_t data[AT_ONCE];
    for (size_t j = 0; j < left; j++)
        data[j] = constant(device, begin + j);
    block(words, CONSTANT, design->program->parameter + design->program->parameter_step * (uint32_t)begin, data,
          (unsigned)left);
}

static void step_block(const writing *w, size_t task, uint32_t *words)
{
    static const uint32_t ZERO[1];
    const rbd_program *program = w->device->design->program;
    const uint32_t begin = w->slot * RBD_SLOT_WORDS;
    switch (w->step) {
    case FORGET:
        directory_block(NULL, nth(w->gone, task) * RBD_SLOT_WORDS, words);
        return;
    case NONE:
        if (task < none_blocks(w->own)) {
            none_block(w->own, task, words);
            return;
        }
        task -= none_blocks(w->own);
        for (size_t k = 0;; k++) {
            const uint16_t *slot = slot_of(w, nth(w->gone, k));
            if (task < none_blocks(slot)) {
                none_block(slot, task, words);
                return;
            }
            task -= none_blocks(slot);
        }
    case NEEDED:
        memcpy(words, program->block[task], sizeof program->block[task]);
        return;
    case VALUES:
        values_block(w->device, task, words);
        return;
    case FUNCTIONS:
        memcpy(words, program->block[program->needed + task], sizeof program->block[task]);
        return;
    case ENTRY:
        task += IDENTITY_WORDS / AT_ONCE;
        directory_block(w->own + AT_ONCE * task, begin + AT_ONCE * (uint32_t)task, words);
        return;
    case IDENTITY:
        directory_block(w->own, begin, words);
        return;
    default:
        block(words, READ, asked_address(w, task), ZERO, 1);
    }
}

static void write_begin(rbd_job *job)
{
    writing *w = (writing *)job;
    w->refused = w->lost = 0;
}

static size_t write_size(const rbd_job *job, size_t task)
{
    (void)job;
    (void)task;
    return RBD_PROGRAM_PACKET_BYTES;
}

static void write_pack(const rbd_job *job, size_t task, unsigned char *packet)
{
    uint32_t words[RBD_BLOCK_WORDS];
    step_block((const writing *)job, task, words);
    memset(packet, 0, HEADER_BYTES);
    packet[0] = RBD_PROGRAM_CODE;
    for (unsigned k = 0; k < 4 * RBD_BLOCK_WORDS; k++)
        packet[HEADER_BYTES + k] = (unsigned char)(words[k / 4] >> 8 * (k % 4) & 255u);
}

static void write_answer(rbd_job *job, size_t task, const unsigned char *packet, size_t length)
{
    writing *w = (writing *)job;
    unsigned code, tag, flags;
    rbd_internal_header(packet, &code, &tag, &flags);
    if (flags || length < HEADER_BYTES)
        w->refused++;
    else if (w->step >= SLOTS_USED)
        w->directory[asked_address(w, task)] = (uint16_t)(packet[2] | packet[3] << 8);
}

static void write_lose(rbd_job *job, size_t task)
{
    (void)task;
    ((writing *)job)->lost++;
}

/* One step. */
static int take_step(writing *w, int step, const uint32_t *epoch)
{
    rbd_device *device = w->device;
    const rbd_job job = {0, write_begin, write_size, write_pack, write_answer, write_lose};
    w->step = step;
    w->job = job;
    w->job.count = step_count(w);
    if (!w->job.count)
        return RBD_OK;
    const int status = rbd_internal_exchange(device, &w->job, epoch);
    if (status == RBD_OK && (w->lost || w->refused))
        return rbd_internal_fail(device, RBD_ERROR_LOST,
                                 "device: of program %.80s %lu packets were lost for good and %lu refused; nothing of "
                                 "it is there, nor what it takes the place of; check the cable, then try again",
                                 device->design->name, (unsigned long)w->lost, (unsigned long)w->refused);
    return status;
}

/* Whether two programs cannot be there at once: other words rotate, or both take something. */
static int clash(const uint16_t *one, const uint16_t *other)
{
    const uint16_t *a = one + EXTENT_AT, *b = other + EXTENT_AT;
    for (unsigned k = 0; k < 8; k += 2)
        if (a[k] < b[k] + b[k + 1] && b[k] < a[k] + a[k + 1])
            return 1;
    return a[8] != b[8];
}

/* A check of the parameters that were given other values, as in the directory. */
static uint32_t values_check(const rbd_device *device)
{
    uint32_t crc = 0xFFFFFFFFu;
    int any = 0;
    for (size_t number = 0; number < device->design->parameters; number++) {
        int64_t raw;
        unsigned char bytes[12];
        if (!rbd_internal_held(device, number, &raw))
            continue;
        for (unsigned k = 0; k < 4; k++)
            bytes[k] = (unsigned char)(number >> 8 * k & 255u);
        for (unsigned k = 0; k < 8; k++)
            bytes[4 + k] = (unsigned char)((uint64_t)raw >> 8 * k & 255u);
        crc = rbd_internal_crc(crc, bytes, sizeof bytes);
        any = 1;
    }
    return any ? ~crc : 0;
}

/* What is in the directory, as far as it is to be known. */
static int read_directory(writing *w, const uint32_t *epoch)
{
    rbd_device *device = w->device;
    memset(w->directory, 0, SLOTS * RBD_SLOT_WORDS * sizeof *w->directory);
    if (device->program_slot >= 0) {
        /* as it was left there: all others are none of ours */
        memcpy(slot_of(w, (unsigned)device->program_slot), w->own, sizeof w->own);
        return RBD_OK;
    }
    const int status = take_step(w, SLOTS_USED, epoch);
    return status == RBD_OK ? take_step(w, SLOTS_WHOLE, epoch) : status;
}

/* Finds what is in the way, and where the program's entry goes. */
static int find_place(writing *w)
{
    int slot = -1, free_slot = -1;
    for (unsigned k = SLOTS; k-- > 0;) {
        const uint16_t *other = slot_of(w, k);
        if (!is_used(other)) {
            free_slot = (int)k;
        } else if (clash(w->own, other)) {
            w->gone |= 1u << k;
            slot = (int)k;
        }
        w->there |= memcmp(other, w->own, IDENTITY_WORDS * sizeof *other) == 0;
    }
    if (slot < 0)
        slot = free_slot;
    if (slot < 0)
        return rbd_internal_fail(w->device, RBD_ERROR_ROOM,
                                 "device: has %u programs and no room for the name of another; reset it, or load one "
                                 "that takes another's place",
                                 SLOTS);
    w->slot = (unsigned)slot;
    return RBD_OK;
}

int rbd_internal_load_program(rbd_device *device, const uint32_t *epoch)
{
    uint16_t directory[SLOTS * RBD_SLOT_WORDS];
    writing w;
    memset(&w, 0, sizeof w);
    w.device = device;
    w.directory = directory;
    memcpy(w.own, device->design->program->slot, sizeof w.own);
    const uint32_t values = values_check(device);
    w.own[VALUES_AT] = (uint16_t)(values & 0xFFFFu);
    w.own[VALUES_AT + 1] = (uint16_t)(values >> 16);
    const int known = device->program_slot >= 0;
    int status = read_directory(&w, epoch);
    if (status != RBD_OK)
        return status;
    for (unsigned k = 0; !known && k < SLOTS; k++)
        if (memcmp(slot_of(&w, k), w.own, sizeof w.own) == 0) {
            device->program_slot = (int)k;
            return RBD_OK;
        }
    status = find_place(&w);
    /* until all is written nothing is known */
    device->program_slot = -1;
    for (int step = 0; status == RBD_OK && step < STEPS; step++)
        status = take_step(&w, step, epoch);
    if (status == RBD_OK)
        device->program_slot = (int)w.slot;
    return status;
}
