// Plays the controller manager of ros2_control for the controller beside this file, so that it runs without ROS and
// without a robot: a simulated arm of emitted C, and a device behind a TCP port.
//
//   ros2_controller HOST SERVICE CYCLES DEADLINE_US SPEED
//
// So many cycles of a millisecond each, as fast as they go; the reference swings every joint, SPEED times as fast as
// once in about six seconds. It prints who made the commands, how far the arm was off, and what was allocated in
// update().
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "computed_torque_controller.hpp"

namespace {

std::size_t allocations = 0;

constexpr double PERIOD = 1e-3, AMPLITUDE = 0.3;

// The arm: semi-implicit Euler on forward dynamics.
struct Arm {
    Joints q{}, v{}, effort{};

    void step() noexcept
    {
        Joints a;
        iiwa14_fd(q.data(), v.data(), effort.data(), a.data());
        for (std::size_t k = 0; k < JOINTS; k++) {
            v[k] += PERIOD * a[k];
            q[k] += PERIOD * v[k];
        }
    }

    Interfaces interfaces() noexcept
    {
        Interfaces made{};
        for (std::size_t k = 0; k < JOINTS; k++) {
            made.position[k] = &q[k];
            made.velocity[k] = &v[k];
            made.effort[k] = &effort[k];
        }
        return made;
    }
};

Reference reference_at(double time, double speed)
{
    Reference made{};
    for (std::size_t k = 0; k < JOINTS; k++) {
        const double rate = speed * (1.0 + 0.1 * static_cast<double>(k));
        // begins at rest
        made.q[k] = AMPLITUDE * (1.0 - std::cos(rate * time));
        made.v[k] = AMPLITUDE * rate * std::sin(rate * time);
        made.a[k] = AMPLITUDE * rate * rate * std::cos(rate * time);
    }
    return made;
}

Parameters parameters(char **words)
{
    Parameters made{};
    made.host = words[1];
    made.service = words[2];
    made.deadline = std::chrono::microseconds(std::atol(words[4]));
    made.kp.fill(400.0);
    made.kd.fill(40.0);
    made.damping.fill(2.0);
    made.effort_limit = {320.0, 320.0, 176.0, 176.0, 110.0, 40.0, 40.0};
    return made;
}

} // namespace

// Counted, because update() must not come here.
void *operator new(std::size_t size)
{
    allocations++;
    if (void *memory = std::malloc(size ? size : 1))
        return memory;
    throw std::bad_alloc();
}

void operator delete(void *memory) noexcept
{
    std::free(memory);
}

void operator delete(void *memory, std::size_t) noexcept
{
    std::free(memory);
}

int main(int count, char **words)
{
    if (count != 6) {
        std::fprintf(stderr, "usage: ros2_controller HOST SERVICE CYCLES DEADLINE_US SPEED\n");
        return 2;
    }
    const long cycles = std::atol(words[3]);
    const double speed = std::atof(words[5]);
    static ComputedTorqueController controller;
    Arm arm;
    if (controller.on_configure(parameters(words)) != CallbackReturn::SUCCESS ||
        controller.on_activate(arm.interfaces()) != CallbackReturn::SUCCESS) {
        std::fprintf(stderr, "%s\n", controller.message());
        return 1;
    }
    double farthest = 0.0;
    std::size_t allocated = 0;
    std::chrono::nanoseconds longest{0};
    for (long cycle = 0; cycle < cycles; cycle++) {
        const double time = PERIOD * static_cast<double>(cycle);
        const Reference reference = reference_at(time, speed);
        controller.set_reference(reference);
        const auto before = std::chrono::steady_clock::now();
        const std::size_t allocated_before = allocations;
        const return_type result =
            controller.update(std::chrono::nanoseconds(cycle * 1000000), std::chrono::nanoseconds(1000000));
        allocated += allocations - allocated_before;
        longest = std::max(longest, std::chrono::nanoseconds(std::chrono::steady_clock::now() - before));
        if (result != return_type::OK) {
            std::fprintf(stderr, "update: the state is not finite\n");
            return 1;
        }
        for (std::size_t k = 0; k < JOINTS; k++)
            farthest = std::max(farthest, std::abs(reference.q[k] - arm.q[k]));
        arm.step();
    }
    const Statistics &told = controller.statistics();
    std::printf("device %llu, software %llu, held %llu, gravity %llu, late %llu, limited %llu\n",
                static_cast<unsigned long long>(told.device), static_cast<unsigned long long>(told.software),
                static_cast<unsigned long long>(told.held), static_cast<unsigned long long>(told.gravity),
                static_cast<unsigned long long>(told.late), static_cast<unsigned long long>(told.limited));
    std::printf("farthest %.6f rad, longest update %.3f ms, allocations %zu\n", farthest,
                static_cast<double>(longest.count()) * 1e-6, allocated);
    if (*told.flagged_vector)
        std::printf("outside: %s[%u]\n", told.flagged_vector, static_cast<unsigned>(told.flagged_joint));
    std::printf("%s\n", controller.message());
    controller.on_deactivate();
    return 0;
}
