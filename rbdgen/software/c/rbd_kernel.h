/* What kernels need of the compiler, and sines and cosines that it can vectorise. */
#ifndef RBD_KERNEL_H
#define RBD_KERNEL_H

/* Sums stay in the order of the text, whatever the compiler is told for all files (-ffast-math, -Ofast): else taking
 * quarter turns off an angle is nothing that it must do, and every angle is one of them. */
#if defined(__clang__)
#pragma clang fp reassociate(off)
#elif defined(__GNUC__)
#pragma GCC optimize("no-associative-math")
#elif defined(_MSC_VER)
#pragma float_control(precise, on)
#elif defined(__FAST_MATH__)
#error "this compiler cannot be kept from reordering sums: compile this library without -ffast-math"
#endif

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) || defined(__clang__)
#define RBD_INLINE static inline __attribute__((always_inline, unused))
#define RBD_PART static __attribute__((noinline, unused))
#define RBD_RESTRICT __restrict__
#else
#define RBD_INLINE static inline
#define RBD_PART static
#define RBD_RESTRICT restrict
#endif

/* Lanes of a loop do not depend on each other. */
#if defined(__clang__)
#define RBD_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define RBD_INDEPENDENT _Pragma("GCC ivdep")
#else
#define RBD_INDEPENDENT
#endif

/* Bytes that the processor computes with at once; -D chooses another width. */
#ifndef RBD_VECTOR_BYTES
#if defined(__AVX512F__)
#define RBD_VECTOR_BYTES 64
#elif defined(__AVX__)
#define RBD_VECTOR_BYTES 32
#else
#define RBD_VECTOR_BYTES 16
#endif
#endif

/* Blocks of states on all cores, where there are enough of them. */
#define RBD_PRAGMA(text) _Pragma(#text)
#if defined(_OPENMP)
#define RBD_PARALLEL_FOR(enough) RBD_PRAGMA(omp parallel for schedule(static) reduction(+ : marked) if (enough))
#else
#define RBD_PARALLEL_FOR(enough)
#endif

/* Entries of arrays: of the caller's, and of a kernel's own. */
#define RBD_IN(x, i) (x)[(size_t)(i) * RBD_STRIDE + lane]
#define RBD_OUT(x, i) (x)[(size_t)(i) * RBD_STRIDE + lane]
#define RBD_LOCAL(x, i) (x)[(i) * RBD_LANES + lane]
#define RBD_LOCAL_ARRAY(x, size) RBD_REAL x[(size) * RBD_LANES]
#define RBD_C(x) ((RBD_REAL)(x))
#define RBD_PATTERNS
#define RBD_PATTERN(name) , name
#define RBD_ABS(x) RBD_TYPED(rbd_fabs)(x)

/* What a state must fulfil: 1 as long as it does, else 0. */
enum { rbd_positive, rbd_near, RBD_CHECKS };
#define RBD_BEGIN_CHECK(check) RBD_REAL check = 1
#define RBD_CHECK(check, condition) check = (condition) ? check : RBD_C(0)
#define RBD_END_CHECK(check) RBD_LOCAL(checks, rbd_##check) *= check

RBD_INLINE double rbd_fabs_f64(double x) { return fabs(x); }
RBD_INLINE float rbd_fabs_f32(float x) { return fabsf(x); }

/* Beyond these angles in radians too few bits are left of them after whole quarter turns are taken off. */
#define RBD_FARTHEST_F64 1e6
#define RBD_FARTHEST_F32 3e3f

/* Sine and cosine of an angle nearer than that: Taylor's series of what is left beyond the nearest whole number n of
 * quarter turns. A quarter turn is subtracted in three parts, of which all but the last are so short that n times them is
 * exact. Adding and subtracting 1.5 times the weight of the sign bit rounds to the nearest whole number. */
RBD_INLINE void rbd_sincos_f64(double x, double *sine, double *cosine)
{
    const double whole = 6755399441055744.0;
    const double n = (x * 0.63661977236758134308 + whole) - whole;
    const double r = ((x - n * 0x1.921fb544p+0) - n * 0x1.0b4611a6p-34) - n * 0x1.3198a2e037073p-69;
    const double z = r * r;
    const double s = r + r * z * (-1.0 / 6 + z * (1.0 / 120 + z * (-1.0 / 5040 + z * (1.0 / 362880 + z * (
        -1.0 / 39916800 + z * (1.0 / 6227020800.0 + z * (-1.0 / 1307674368000.0)))))));
    const double c = 1.0 + z * (-1.0 / 2 + z * (1.0 / 24 + z * (-1.0 / 720 + z * (1.0 / 40320 + z * (-1.0 / 3628800 +
        z * (1.0 / 479001600.0 + z * (-1.0 / 87178291200.0 + z * (1.0 / 20922789888000.0))))))));
    const double half = ((n * 0.5 - 0.25) + whole) - whole;
    const double quarter = ((half * 0.5 - 0.25) + whole) - whole;
    const double odd = n - 2.0 * half;
    const double sign = 1.0 - 2.0 * (half - 2.0 * quarter);
    *sine = sign * (odd != 0.0 ? c : s);
    *cosine = (odd != 0.0 ? -sign : sign) * (odd != 0.0 ? s : c);
}

RBD_INLINE void rbd_sincos_f32(float x, float *sine, float *cosine)
{
    const float whole = 12582912.0f;
    const float n = (x * 0.636619772f + whole) - whole;
    const float r = ((x - n * 0x1.92p+0f) - n * 0x1.fb4p-12f) - n * 0x1.4442d2p-24f;
    const float z = r * r;
    const float s = r + r * z * (-1.0f / 6 + z * (1.0f / 120 + z * (-1.0f / 5040 + z * (1.0f / 362880))));
    const float c = 1.0f + z * (-1.0f / 2 + z * (1.0f / 24 + z * (-1.0f / 720 + z * (1.0f / 40320 + z * (
        -1.0f / 3628800)))));
    const float half = ((n * 0.5f - 0.25f) + whole) - whole;
    const float quarter = ((half * 0.5f - 0.25f) + whole) - whole;
    const float odd = n - 2.0f * half;
    const float sign = 1.0f - 2.0f * (half - 2.0f * quarter);
    *sine = sign * (odd != 0.0f ? c : s);
    *cosine = (odd != 0.0f ? -sign : sign) * (odd != 0.0f ? s : c);
}

#endif
