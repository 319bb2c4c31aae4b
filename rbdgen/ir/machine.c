/* Runs a fixed-point graph over many tasks: one instruction per operation, over blocks that stay in the cache.
 *
 * The meaning of every operation is that of its record in rbdgen/ir/ops, bit for bit; rbdgen/ir/machine.py encodes the graph
 * and has this file compiled. A register is one value of BLOCK tasks.
 */
#include <stdint.h>

#define BLOCK 128
#define FIELDS 12

enum { INPUT, CONSTANT, ADD, SUB, NEG, ABS, SIGN, MUL, SCALE, COPY, SINE, RECIPROCAL, RESIDUAL, NORMALISE, RESCALE, OUTPUT,
       LONG_MUL, PLUS_PRODUCT, PLUS_LONG_PRODUCT, PLUS };
enum { OP, DEST, A, B, P, Q, R, DROP, ROUNDS, LIMITS, LOW, HIGH };
enum { NO_LIMIT, SATURATE, WRAP };

static inline int64_t left(int64_t x, int64_t places) { return (int64_t)((uint64_t)x << places); }

static inline int64_t exponent(int64_t x) { return 63 - __builtin_clzll((uint64_t)x); }

static void finish(const int64_t *restrict code, int64_t *restrict y, int64_t *restrict overflow)
{
    const int64_t drop = code[DROP], low = code[LOW], high = code[HIGH];
    if (drop && code[ROUNDS]) /* not half of the last place first: that may be beyond 64 bits */
        for (int k = 0; k < BLOCK; k++)
            y[k] = ((y[k] >> (drop - 1)) + 1) >> 1;
    else if (drop)
        for (int k = 0; k < BLOCK; k++)
            y[k] = y[k] >> drop;
    if (code[LIMITS] == SATURATE)
        for (int k = 0; k < BLOCK; k++) {
            const int64_t x = y[k], below = x < low ? low : x, value = below > high ? high : below;
            overflow[k] |= value ^ x;
            y[k] = value;
        }
    else if (code[LIMITS] == WRAP)
        for (int k = 0; k < BLOCK; k++) {
            const int64_t x = y[k], value = (int64_t)(((uint64_t)x - (uint64_t)low) & (uint64_t)(high - low)) + low;
            overflow[k] |= value ^ x;
            y[k] = value;
        }
}

/* One block. `in` and `out` point at the block's first task; words of one operand or result lie `stride` apart. */
static void block(const int64_t *code, int64_t length, const int64_t *tables, const int64_t *in, int64_t *out,
                  int64_t stride, int64_t count, int64_t *registers, int64_t *overflow)
{
    for (int64_t n = 0; n < length; n++, code += FIELDS) {
        int64_t *restrict y = registers + code[DEST] * BLOCK;
        const int64_t *a = registers + code[A] * BLOCK, *b = registers + code[B] * BLOCK;
        const int64_t p = code[P], q = code[Q], r = code[R];
        switch (code[OP]) {
        case INPUT:
            for (int64_t k = 0; k < BLOCK; k++)
                y[k] = in[p * stride + (k < count ? k : count - 1)];
            continue;
        case OUTPUT:
            for (int64_t k = 0; k < count; k++)
                out[p * stride + k] = a[k];
            continue;
        case CONSTANT:
            for (int k = 0; k < BLOCK; k++)
                y[k] = p;
            continue;
        case ADD:
            for (int k = 0; k < BLOCK; k++)
                y[k] = left(a[k], p) + left(b[k], q);
            break;
        case SUB:
            for (int k = 0; k < BLOCK; k++)
                y[k] = left(a[k], p) - left(b[k], q);
            break;
        case NEG:
            for (int k = 0; k < BLOCK; k++)
                y[k] = -a[k];
            break;
        case ABS:
            for (int k = 0; k < BLOCK; k++)
                y[k] = a[k] < 0 ? -a[k] : a[k];
            break;
        case SIGN: /* p: bits behind the result's binary point */
            for (int k = 0; k < BLOCK; k++)
                y[k] = left(a[k] < 0 ? -1 : 1, p);
            continue;
        case MUL:
            for (int k = 0; k < BLOCK; k++)
                y[k] = a[k] * b[k];
            break;
        case LONG_MUL: /* p: low bits of the second factor; r: half of what they are, where no more is dropped */
            for (int k = 0; k < BLOCK; k++) {
                const int64_t part = a[k] * (b[k] & (((int64_t)1 << p) - 1)) + r;
                y[k] = a[k] * (b[k] >> p) + (part >> p);
            }
            break;
        case PLUS_LONG_PRODUCT: /* r: low bits of the second factor; p: places to the left, never to the right of them;
                                   q: the sign */
            for (int k = 0; k < BLOCK; k++) {
                const int64_t part = a[k] * (b[k] & (((int64_t)1 << r) - 1));
                const int64_t whole = a[k] * (b[k] >> r) + (part >> r);
                y[k] += q * (whole >> -p);
            }
            break;
        case PLUS_PRODUCT: /* p: places to the left (negative: to the right); q: the sign */
            for (int k = 0; k < BLOCK; k++)
                y[k] += q * (p < 0 ? a[k] * b[k] >> -p : left(a[k] * b[k], p));
            break;
        case PLUS:
            for (int k = 0; k < BLOCK; k++)
                y[k] += q * (p < 0 ? a[k] >> -p : left(a[k], p));
            break;
        case SCALE:
            for (int k = 0; k < BLOCK; k++)
                y[k] = a[k] * p;
            break;
        case COPY:
            for (int k = 0; k < BLOCK; k++)
                y[k] = a[k];
            break;
        case SINE: /* p: bits below the table's address; q: address bits; r: the table; B: quarters ahead */
            for (int k = 0; k < BLOCK; k++) {
                const int64_t size = (int64_t)1 << q, place = (a[k] >> p) + code[B] * size;
                const int64_t quadrant = (place >> q) & 3, index = place & (size - 1);
                const int64_t value = tables[r + (quadrant & 1 ? size - 1 - index : index)];
                y[k] = quadrant & 2 ? -value : value;
            }
            continue;
        case RECIPROCAL:
            for (int k = 0; k < BLOCK; k++)
                y[k] = tables[r + ((a[k] >> p) & (((int64_t)1 << q) - 1))];
            continue;
        case RESIDUAL:
            for (int k = 0; k < BLOCK; k++)
                y[k] = (a[k] & (((int64_t)1 << p) - 1)) - ((int64_t)1 << (p - 1));
            continue;
        case NORMALISE: /* p: the argument's highest place; q: bits dropped (negative: appended) */
            for (int k = 0; k < BLOCK; k++) {
                const int64_t positive = a[k] > 0 ? a[k] : 1, aligned = left(positive, p - exponent(positive));
                overflow[k] |= a[k] <= 0;
                y[k] = q > 0 ? aligned >> q : left(aligned, -q);
            }
            continue;
        case RESCALE: /* p: the second argument's highest place */
            for (int k = 0; k < BLOCK; k++)
                y[k] = left(a[k], p - exponent(b[k] > 0 ? b[k] : 1));
            break;
        }
        finish(code, y, overflow);
    }
}

/* All `count` tasks; `flags` gets 1 for each task in which something overflowed. */
void rbdgen_run(const int64_t *code, int64_t length, const int64_t *tables, const int64_t *in, int64_t *out,
                uint8_t *flags, int64_t count, int64_t *registers)
{
    int64_t overflow[BLOCK];
    for (int64_t begin = 0; begin < count; begin += BLOCK) {
        const int64_t here = count - begin < BLOCK ? count - begin : BLOCK;
        for (int k = 0; k < BLOCK; k++)
            overflow[k] = 0;
        block(code, length, tables, in + begin, out + begin, count, here, registers, overflow);
        for (int64_t k = 0; k < here; k++)
            flags[begin + k] = overflow[k] != 0;
    }
}
