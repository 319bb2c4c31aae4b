/* The meaning of a kernel's macros for fixed point, 64-bit integers throughout, and RBD_WIDE (rbd_lanes.h).
 * Comes before each inclusion of a kernel.
 *
 * Numbers to the right of a shift that are negative keep their sign, as all compilers of today have it. */
#include "rbd_words.h"

#undef RBD_BITS
#undef RBD_REAL
#undef RBD_TYPED
#define RBD_BITS 64
#define RBD_REAL int64_t
#define RBD_TYPED(name) name##_raw
#include "rbd_lanes.h"
