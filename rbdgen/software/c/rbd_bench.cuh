/* Times launchers of kernels: alone, and with copies from and to pinned memory of the host that several streams overlap.
 *
 *     nvcc -O3 -arch=sm_90 *.cu -o bench && ./bench [COUNT...]
 *
 * Operands are random in [-1, 1], so that states need not be ones that a robot can have: nothing branches on them. The
 * states of a stream are a batch of their own, laid out as launchers take them. */
#pragma once

#include <algorithm>
#include <cuda_runtime.h>
#include <functional>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

inline void rbd_must(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
        exit(1);
    }
}

class rbd_bench {
public:
    int failed = 0;

    rbd_bench(int count, char **words)
    {
        for (int k = 1; k < count; k++)
            counts.push_back(strtoull(words[k], nullptr, 10));
        if (counts.empty())
            counts = {1024, 16384, 1 << 20};
        cudaDeviceProp device;
        rbd_must(cudaGetDeviceProperties(&device, 0), "device");
        printf("%s\n%-14s %-7s %8s %16s %16s\n", device.name, "kernel", "type", "states", "alone, M/s", "with copies, M/s");
        for (cudaStream_t &stream : streams)
            rbd_must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
        for (cudaEvent_t &event : events)
            rbd_must(cudaEventCreate(&event), "event");
    }

    template <class Real>
    using launcher = std::function<cudaError_t(size_t, Real *const *, const int32_t *, unsigned long long *, cudaStream_t)>;

    /* One launcher, whose operands and results have so many entries. */
    template <class Real>
    void run(const char *name, std::vector<size_t> operands, std::vector<size_t> results, launcher<Real> launch)
    {
        for (size_t count : counts) {
            std::vector<batch<Real>> whole = make<Real>(1, count, operands, results);
            const float alone = best([&] { launched(whole[0], launch, streams[0]); });
            release(whole);
            std::vector<batch<Real>> parts = make<Real>(STREAMS, count, operands, results);
            const float copied = best([&] {
                for (size_t k = 0; k < parts.size(); k++)
                    with_copies(parts[k], launch, streams[k]);
            });
            release(parts);
            printf("%-14s %-7s %8zu %16.1f %16.1f\n", name, sizeof(Real) == 8 ? "double" : "float", count,
                   count / alone * 1e-3, count / copied * 1e-3);
        }
    }

private:
    enum { STREAMS = 4, REPEATS = 20, STEPS = 10 };
    std::vector<size_t> counts;
    cudaStream_t streams[STREAMS];
    cudaEvent_t events[2 + STREAMS];

    /* Arrays of some states, on the device and pinned on the host. */
    template <class Real> struct batch {
        size_t count, operands;
        std::vector<size_t> bytes;
        std::vector<Real *> device, host;
        int32_t *steps;
        unsigned long long *singular;
    };

    template <class Real>
    std::vector<batch<Real>> make(size_t number, size_t count, const std::vector<size_t> &operands,
                                  const std::vector<size_t> &results)
    {
        std::vector<batch<Real>> found(number);
        for (size_t k = 0; k < number; k++) {
            batch<Real> &own = found[k];
            own.count = count * (k + 1) / number - count * k / number;
            own.operands = operands.size();
            std::vector<size_t> sizes = operands;
            sizes.insert(sizes.end(), results.begin(), results.end());
            for (size_t size : sizes) {
                Real *device, *host;
                const size_t entries = size * own.count, bytes = std::max<size_t>(entries, 1) * sizeof(Real);
                rbd_must(cudaMalloc(&device, bytes), "memory of the device");
                rbd_must(cudaMallocHost(&host, bytes), "pinned memory");
                for (size_t i = 0; i < entries; i++)
                    host[i] = (Real)(2.0 * rand() / RAND_MAX - 1);
                rbd_must(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "copy");
                own.bytes.push_back(bytes), own.device.push_back(device), own.host.push_back(host);
            }
            const std::vector<int32_t> steps(own.count + 1, STEPS);
            rbd_must(cudaMalloc(&own.steps, steps.size() * sizeof(int32_t)), "memory of the device");
            rbd_must(cudaMemcpy(own.steps, steps.data(), steps.size() * sizeof(int32_t), cudaMemcpyHostToDevice), "copy");
            rbd_must(cudaMalloc(&own.singular, sizeof(*own.singular)), "memory of the device");
            rbd_must(cudaMemset(own.singular, 0, sizeof(*own.singular)), "memory of the device");
        }
        return found;
    }

    template <class Real> void release(std::vector<batch<Real>> &batches)
    {
        for (batch<Real> &own : batches) {
            for (Real *x : own.device)
                cudaFree(x);
            for (Real *x : own.host)
                cudaFreeHost(x);
            cudaFree(own.steps), cudaFree(own.singular);
        }
    }

    template <class Real> void launched(batch<Real> &own, const launcher<Real> &launch, cudaStream_t stream)
    {
        rbd_must(launch(own.count, own.device.data(), own.steps, own.singular, stream), "launch");
    }

    template <class Real> void with_copies(batch<Real> &own, const launcher<Real> &launch, cudaStream_t stream)
    {
        for (size_t k = 0; k < own.operands; k++)
            rbd_must(cudaMemcpyAsync(own.device[k], own.host[k], own.bytes[k], cudaMemcpyHostToDevice, stream), "copy");
        launched(own, launch, stream);
        for (size_t k = own.operands; k < own.device.size(); k++)
            rbd_must(cudaMemcpyAsync(own.host[k], own.device[k], own.bytes[k], cudaMemcpyDeviceToHost, stream), "copy");
    }

    /* Milliseconds of the fastest of some runs: from an event that all streams wait for, to one that waits for all. */
    template <class Work> float best(Work work)
    {
        float least = 0;
        for (int number = 0; number < REPEATS; number++) {
            rbd_must(cudaEventRecord(events[0], streams[0]), "event");
            for (int k = 1; k < STREAMS; k++)
                rbd_must(cudaStreamWaitEvent(streams[k], events[0], 0), "event");
            work();
            for (int k = 1; k < STREAMS; k++) {
                rbd_must(cudaEventRecord(events[1 + k], streams[k]), "event");
                rbd_must(cudaStreamWaitEvent(streams[0], events[1 + k], 0), "event");
            }
            rbd_must(cudaEventRecord(events[1], streams[0]), "event");
            rbd_must(cudaEventSynchronize(events[1]), "kernel");
            float milliseconds;
            rbd_must(cudaEventElapsedTime(&milliseconds, events[0], events[1]), "event");
            least = number == 0 ? milliseconds : std::min(least, milliseconds);
        }
        return least;
    }
};
