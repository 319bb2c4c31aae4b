/* The lanes of an instance, for RBD_WIDE 0 (one state) or 1 (as many states side by side as a vector has lanes), and what
 * kernels of any number type do with whole arrays. Comes behind RBD_BITS, RBD_REAL and RBD_TYPED.
 *
 * Entry i of an array of the caller's is at x[i * stride + lane], of a local one at x[i * RBD_LANES + lane]. */
#undef RBD_LANES
#undef RBD_NAME
#undef RBD_WHOLE
#undef RBD_FOR_LANES
#undef RBD_STRIDE
#undef RBD_STRIDE_PARAMETER
#undef RBD_STRIDE_ARGUMENT
#if RBD_WIDE
#define RBD_LANES (RBD_VECTOR_BYTES * 8 / RBD_BITS)
#define RBD_NAME(name) RBD_TYPED(name##_wide)
#define RBD_WHOLE RBD_PART
#define RBD_FOR_LANES RBD_INDEPENDENT for (int lane = 0; lane < RBD_LANES; lane++)
#define RBD_STRIDE stride
#define RBD_STRIDE_PARAMETER , const size_t stride
#define RBD_STRIDE_ARGUMENT , stride
#else
#define RBD_LANES 1
#define RBD_NAME(name) RBD_TYPED(name)
#define RBD_WHOLE static inline
#define RBD_FOR_LANES for (int lane = 0; lane < 1; lane++)
#define RBD_STRIDE ((size_t)1)
#define RBD_STRIDE_PARAMETER
#define RBD_STRIDE_ARGUMENT
#endif

/* Zeros in an array. */
RBD_INLINE void RBD_NAME(rbd_zero)(RBD_REAL *x, size_t stride, size_t size)
{
    for (size_t i = 0; i < size; i++)
        for (size_t lane = 0; lane < RBD_LANES; lane++)
            x[i * stride + lane] = 0;
}

/* An array, entry by entry. */
RBD_INLINE void RBD_NAME(rbd_copy)(RBD_REAL *to, size_t to_stride, const RBD_REAL *from, size_t from_stride, size_t size)
{
    for (size_t i = 0; i < size; i++)
        for (size_t lane = 0; lane < RBD_LANES; lane++)
            to[i * to_stride + lane] = from[i * from_stride + lane];
}

#if RBD_WIDE
/* The states from `first` side by side; where there are fewer than lanes, the last one again and again. */
RBD_INLINE void RBD_NAME(rbd_gather)(RBD_REAL *RBD_RESTRICT own, const RBD_REAL *RBD_RESTRICT x, size_t entries,
                                 size_t entry_stride, size_t state_stride, size_t first, size_t here)
{
    for (size_t lane = 0; lane < RBD_LANES; lane++) {
        const RBD_REAL *state = x + (first + (lane < here ? lane : here - 1)) * state_stride;
        for (size_t i = 0; i < entries; i++)
            own[i * RBD_LANES + lane] = state[i * entry_stride];
    }
}

/* Some of them back to where they belong. */
RBD_INLINE void RBD_NAME(rbd_scatter)(RBD_REAL *RBD_RESTRICT x, const RBD_REAL *RBD_RESTRICT own, size_t entries,
                                  size_t entry_stride, size_t state_stride, size_t first, size_t here)
{
    for (size_t lane = 0; lane < here; lane++) {
        RBD_REAL *state = x + (first + lane) * state_stride;
        for (size_t i = 0; i < entries; i++)
            state[i * entry_stride] = own[i * RBD_LANES + lane];
    }
}
#endif
