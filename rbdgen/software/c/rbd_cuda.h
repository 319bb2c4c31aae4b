/* The meaning of a kernel's macros in CUDA C++, for RBD_BITS 64 (double) or 32 (float): a thread computes one state, or,
 * in spread kernels, a part of it. Comes before each inclusion of a kernel, and needs no other header where NVRTC
 * compiles it.
 *
 * Entry i of an array of the caller's is at x[i * stride + lane] with x moved on to the thread's state, and lane 0; one of
 * a local array, which is the thread's own, at x[i]; one of a shared array, which a block's threads have together, at
 * x[i * 32 + column], where all states of a warp have a column of their own. */
#ifndef RBD_CUDA_H
#define RBD_CUDA_H

#if defined(__CUDACC_RTC__)
typedef int int32_t;
#else
#include <stddef.h>
#include <stdint.h>
#endif

#define RBD_INLINE static __device__ __forceinline__
#define RBD_CALLED static __device__ __noinline__
#define RBD_WHOLE RBD_INLINE
#define RBD_RESTRICT __restrict__
#if defined(__CUDACC__)
#define RBD_UNROLLED _Pragma("unroll")
#else
#define RBD_UNROLLED
#endif

/* States of a block of a spread kernel: those of a warp. */
#define RBD_STATES 32
#define RBD_LANES 1
#define RBD_FOR_LANES
#define RBD_STRIDE stride
#define RBD_STRIDE_PARAMETER , const size_t stride
#define RBD_STRIDE_ARGUMENT , stride
#define RBD_IN(x, i) (x)[(size_t)(i) * RBD_STRIDE]
#define RBD_OUT(x, i) (x)[(size_t)(i) * RBD_STRIDE]
#define RBD_LOCAL(x, i) (x)[i]
#define RBD_SHARED(x, i) (x)[(i) * RBD_STATES]
#define RBD_LOCAL_ARRAY(x, size) RBD_REAL x[size]
#define RBD_C(x) ((RBD_REAL)(x))
#define RBD_ABS(x) RBD_TYPED(rbd_fabs)(x)
#define RBD_NAME(name) RBD_TYPED(name)
#define RBD_PATTERN(name)

/* What a state must fulfil: 1 as long as it does, else 0. CUDA's sines are right at any angle. */
enum { rbd_positive, rbd_near, RBD_CHECKS };
#define RBD_BEGIN_CHECK(check) RBD_REAL check = 1
#define RBD_CHECK(check, condition) check = (condition) ? check : RBD_C(0)
#define RBD_END_CHECK(check) RBD_LOCAL(checks, rbd_##check) *= check

RBD_INLINE double rbd_fabs_f64(double x) { return fabs(x); }
RBD_INLINE float rbd_fabs_f32(float x) { return fabsf(x); }
RBD_INLINE void rbd_sincos_f64(double x, double *sine, double *cosine) { sincos(x, sine, cosine); }
RBD_INLINE void rbd_sincos_f32(float x, float *sine, float *cosine) { sincosf(x, sine, cosine); }
#define RBD_SINCOS(x, s, c, near) RBD_TYPED(rbd_sincos)(x, &(s), &(c))

/* All warps of a block wait for each other, each at its own place in the text. */
#if defined(__CUDACC__)
#define RBD_BARRIER(threads) asm volatile("bar.sync 1, %0;" ::"n"(threads) : "memory")
/* The thread's warp in its block, which is the same for all its threads. */
#define RBD_WARP() ((int)__shfl_sync(0xffffffffu, threadIdx.y, 0))
#endif

#endif

/* Parts of a kernel; one that is too large for that calls them. */
#undef RBD_PART
#define RBD_PART RBD_INLINE

#undef RBD_REAL
#undef RBD_TYPED
#if RBD_BITS == 64
#define RBD_REAL double
#define RBD_TYPED(name) name##_f64
#else
#define RBD_REAL float
#define RBD_TYPED(name) name##_f32
#endif

#if (RBD_BITS == 64 && !defined(RBD_CUDA_F64)) || (RBD_BITS == 32 && !defined(RBD_CUDA_F32))
#if RBD_BITS == 64
#define RBD_CUDA_F64
#else
#define RBD_CUDA_F32
#endif

/* Zeros in an array. */
RBD_INLINE void RBD_NAME(rbd_zero)(RBD_REAL *x, size_t stride, int size)
{
    RBD_UNROLLED
    for (int i = 0; i < size; i++)
        x[i * stride] = 0;
}

/* An array, entry by entry. */
RBD_INLINE void RBD_NAME(rbd_copy)(RBD_REAL *to, size_t to_stride, const RBD_REAL *from, size_t from_stride, int size)
{
    RBD_UNROLLED
    for (int i = 0; i < size; i++)
        to[i * to_stride] = from[i * from_stride];
}

/* The thread's number of steps. */
RBD_INLINE size_t RBD_NAME(rbd_most_steps)(const int32_t *steps) { return steps[0] > 0 ? (size_t)steps[0] : 0; }

/* A step of time. */
RBD_INLINE void RBD_NAME(rbd_advance)(RBD_REAL *now, const RBD_REAL *next, int size, const int32_t *, size_t)
{
    RBD_NAME(rbd_copy)(now, 1, next, 1, size);
}

/* result = -(left right), of matrices with so many rows and columns: those rows that begin with `first`, `apart` apart.
 * Entries of the factors are `own` apart. */
RBD_INLINE void RBD_NAME(rbd_rows_of_product)(RBD_REAL *RBD_RESTRICT result, size_t stride, const RBD_REAL *RBD_RESTRICT left,
                                          const RBD_REAL *RBD_RESTRICT right, int own, int rows, int inner, int columns,
                                          int first, int apart)
{
    for (int i = first; i < rows; i += apart)
        for (int j = 0; j < columns; j++) {
            RBD_REAL sum = 0;
            for (int k = 0; k < inner; k++)
                sum -= left[(i * inner + k) * own] * right[(k * columns + j) * own];
            result[(size_t)(i * columns + j) * stride] = sum;
        }
}

/* x = -(left x), of a square left factor in shared memory: those columns that begin with `first`, `apart` apart. */
template <int rows>
RBD_INLINE void RBD_NAME(rbd_product_in_place)(RBD_REAL *x, size_t stride, const RBD_REAL *left, int columns, int first,
                                           int apart)
{
    for (int j = first; j < columns; j += apart) {
        RBD_REAL column[rows];
        RBD_UNROLLED
        for (int k = 0; k < rows; k++)
            column[k] = x[(size_t)(k * columns + j) * stride];
        for (int i = 0; i < rows; i++) {
            RBD_REAL sum = 0;
            RBD_UNROLLED
            for (int k = 0; k < rows; k++)
                sum -= RBD_SHARED(left, i * rows + k) * column[k];
            x[(size_t)(i * columns + j) * stride] = sum;
        }
    }
}

RBD_INLINE void RBD_NAME(rbd_negated_product)(RBD_REAL *RBD_RESTRICT result, size_t stride, const RBD_REAL *RBD_RESTRICT left,
                                          const RBD_REAL *RBD_RESTRICT right, int rows, int inner, int columns)
{
    RBD_NAME(rbd_rows_of_product)(result, stride, left, right, 1, rows, inner, columns, 0, 1);
}
#endif
