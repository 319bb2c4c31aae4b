/* The meaning of a kernel's macros for fixed point, 64-bit integers throughout; RBD_WIDE 0: one state, 1: as many states
 * side by side as a vector has lanes. Comes before each inclusion of a kernel.
 *
 * Numbers to the right of a shift that are negative keep their sign, as all compilers of today have it. */
#include "rbd_words.h"

#undef RBD_BITS
#undef RBD_REAL
#undef RBD_TYPED
#undef RBD_LANES
#undef RBD_NAME
#undef RBD_WHOLE
#undef RBD_FOR_LANES
#undef RBD_STRIDE
#undef RBD_STRIDE_PARAMETER
#undef RBD_STRIDE_ARGUMENT
#define RBD_BITS 64
#define RBD_REAL int64_t
#define RBD_TYPED(name) name##_raw
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
#include "rbd_arrays.h"
