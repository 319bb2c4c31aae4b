/* Enough of CUDA to run a kernel on the host: blocks one after the other, their threads as coroutines that change places
 * at barriers. Warps come in ascending or in descending order, so that what they must wait for shows. */
#pragma once

#include <algorithm>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>
#include <vector>

#define __device__
#define __global__
#define __shared__
#define __forceinline__ inline __attribute__((unused))
#define __noinline__ __attribute__((noinline, unused))
#define __launch_bounds__(threads)

struct rbd_index {
    unsigned x, y, z;
};
static rbd_index threadIdx, blockIdx, blockDim;
double rbd_shared[227 * 1024 / sizeof(double)];

static unsigned long long atomicAdd(unsigned long long *x, unsigned long long y)
{
    const unsigned long long before = *x;
    *x += y;
    return before;
}

namespace rbd_host {
enum { stack_bytes = 1 << 20 };
struct thread {
    ucontext_t context;
    rbd_index index;
    bool done;
};
static std::vector<thread> threads;
static ucontext_t scheduler;
static thread *current;
static void (*body)(void *);
static void *given;
static unsigned expected;

static void enter()
{
    body(given);
    current->done = true;
}

static void barrier(unsigned count)
{
    if (count != expected)
        abort();
    swapcontext(&current->context, &scheduler);
}

/* One block: each thread up to its next barrier, again and again. */
static void run_block(bool descending)
{
    static std::vector<std::vector<char>> stacks;
    while (stacks.size() < threads.size())
        stacks.emplace_back(stack_bytes);
    for (size_t k = 0; k < threads.size(); k++) {
        thread &own = threads[k];
        getcontext(&own.context);
        own.context.uc_stack.ss_sp = stacks[k].data();
        own.context.uc_stack.ss_size = stack_bytes;
        own.context.uc_link = &scheduler;
        own.index = {(unsigned)(k % blockDim.x), (unsigned)(k / blockDim.x), 0};
        own.done = false;
        makecontext(&own.context, enter, 0);
    }
    for (size_t left = threads.size(); left;) {
        left = 0;
        for (size_t k = 0; k < threads.size(); k++) {
            current = &threads[descending ? threads.size() - 1 - k : k];
            if (current->done)
                continue;
            threadIdx = current->index;
            swapcontext(&scheduler, &current->context);
            left += !current->done;
        }
        /* all of them wait at a barrier, or none does */
        if (left && left != threads.size())
            abort();
    }
}

template <class Body> void launch(size_t blocks, unsigned x, unsigned y, bool descending, Body call)
{
    body = [](void *own) { (*(Body *)own)(); };
    given = &call;
    blockDim = {x, y, 1};
    expected = x * y;
    threads.resize(expected);
    for (size_t k = 0; k < blocks; k++) {
        blockIdx = {(unsigned)k, 0, 0};
        for (double &entry : rbd_shared)
            entry = NAN;
        run_block(descending);
    }
}
} // namespace rbd_host

#define RBD_BARRIER(count) rbd_host::barrier(count)
#define RBD_WARP() ((int)threadIdx.y)
#define __CUDACC_RTC__
