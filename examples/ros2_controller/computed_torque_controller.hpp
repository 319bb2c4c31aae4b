// Computed torque on an accelerator, in the shape of a controller of ros2_control. It needs no ROS; what stands in for
// it is named where it does:
//
//   here                              in a ROS 2 package
//   --------------------------------  ---------------------------------------------------------------------------------
//   class ComputedTorqueController    : public controller_interface::ControllerInterface, exported by pluginlib
//   Parameters                        declared in on_init() (auto_declare), read in on_configure()
//   on_configure, on_activate, ...    the same, with a rclcpp_lifecycle::State that is not looked at
//   update(time, period)              the same, with rclcpp::Time and rclcpp::Duration
//   Interfaces                        state_interfaces_ ("position", "velocity") and command_interfaces_ ("effort") of
//                                     the joints; get_value() and set_value()
//   set_reference                     what a subscriber writes to a realtime_tools::RealtimeBuffer, read in update()
//   Statistics                        a realtime_tools::RealtimePublisher, such as of diagnostic_msgs
//   message()                         RCLCPP_ERROR(get_node()->get_logger(), ...), outside of update()
//
// update() is for a real-time thread: it allocates nothing, throws nothing, takes no lock, and waits for the device
// until its deadline and no longer. What it commands, in this order:
//
//   1. tau = ID(q, v, a_ref + kd (v_ref - v) + kp (q_ref - q)) by the accelerator;
//   2. the same by the emitted C where the device did not answer in time, or is gone. Late so many times in a row, it
//      is not asked any more until the controller is activated again;
//   3. where the device flags its operands as outside their declared ranges, or its result as saturated, the state is
//      not one that the accelerator was made for: the last command is held for some cycles, and from then on gravity
//      is compensated and motion damped, until a result is good again.
//
// Accelerations that are asked for are limited to those that the accelerator was declared for, so that a reference that
// is far away is no reason for 3; every command is limited to what the drives give.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>

#include "deadline_transport.hpp"
#include "iiwa14.h"                // rbdgen emit iiwa14 --functions id,fd
#include "rbd_iiwa14_id_device.h"  // rbdgen emit build/arm --target host
#include "rbdgen_transport_posix.h"

constexpr std::size_t JOINTS = IIWA14_NV;
using Joints = std::array<double, JOINTS>;

// controller_interface::CallbackReturn and controller_interface::return_type
enum class CallbackReturn { SUCCESS, FAILURE };
enum class return_type { OK, ERROR };

struct Parameters {
    const char *host = "127.0.0.1"; // a serial port needs rbd_open_serial in its place
    const char *service = "";
    std::chrono::microseconds deadline{500}; // of the device's answer, from when it is asked
    Joints kp, kd, damping, effort_limit;
    unsigned late_limit = 3; // times in a row
    unsigned hold_limit = 5; // cycles
};

struct Interfaces {
    std::array<const double *, JOINTS> position, velocity;
    std::array<double *, JOINTS> effort;
};

struct Reference {
    Joints q, v, a;
};

// How often each source made the command, the device was late, and an acceleration was limited; and what was outside
// when a task was last flagged, for a message.
struct Statistics {
    std::uint64_t device = 0, software = 0, held = 0, gravity = 0, late = 0, limited = 0;
    const char *flagged_vector = "";
    std::uint32_t flagged_joint = 0;
};

class ComputedTorqueController {
public:
    ComputedTorqueController() noexcept : message_("") {}
    ~ComputedTorqueController() { on_deactivate(); }
    ComputedTorqueController(const ComputedTorqueController &) = delete;
    ComputedTorqueController &operator=(const ComputedTorqueController &) = delete;

    // Parameters are checked here. Nothing is opened yet: lifecycle nodes are configured before there is a robot.
    CallbackReturn on_configure(const Parameters &parameters) noexcept
    {
        if (parameters.deadline.count() <= 0 || parameters.late_limit == 0) {
            message_ = "deadline and late_limit: must be above 0";
            return CallbackReturn::FAILURE;
        }
        parameters_ = parameters;
        const rbd_function &id = rbd_iiwa14_id_design.function[RBD_IIWA14_ID_FUNCTION_ID];
        for (std::size_t k = 0; k < id.operand_words; k++) {
            const rbd_operand &word = id.operands[k];
            if (word.vector != ACCELERATION)
                continue;
            lowest_[word.entry] = rbd_value(word.lower, word.frac);
            highest_[word.entry] = rbd_value(word.upper, word.frac);
        }
        return CallbackReturn::SUCCESS;
    }

    // Not in the real-time thread: connects, and asks the device who it is, which may take the library's seconds.
    CallbackReturn on_activate(const Interfaces &interfaces) noexcept
    {
        on_deactivate();
        interfaces_ = interfaces;
        statistics_ = {};
        for (std::size_t k = 0; k < JOINTS; k++) {
            reference_.q[k] = *interfaces_.position[k]; // stay where it is
            reference_.v[k] = reference_.a[k] = 0.0;
        }
        late_ = held_ = 0;
        compensate_gravity();
        rbd_transport posix;
        if (rbd_open_tcp(&port_, &posix, parameters_.host, parameters_.service) != RBD_OK) {
            message_ = port_.message;
            return CallbackReturn::FAILURE;
        }
        const rbd_transport transport = transport_.around(posix);
        const int status =
            rbd_open(&device_, &rbd_iiwa14_id_design, &transport, workspace_, sizeof workspace_, nullptr);
        if (status != RBD_OK) {
            message_ = rbd_message(&device_);
            return CallbackReturn::FAILURE;
        }
        is_open_ = has_device_ = true;
        message_ = "";
        return CallbackReturn::SUCCESS;
    }

    CallbackReturn on_deactivate() noexcept
    {
        if (is_open_)
            rbd_close(&device_);
        is_open_ = has_device_ = false;
        return CallbackReturn::SUCCESS;
    }

    // With threads, behind a buffer: see above.
    void set_reference(const Reference &reference) noexcept { reference_ = reference; }

    return_type update(std::chrono::nanoseconds, std::chrono::nanoseconds) noexcept
    {
        Joints q, v, a;
        bool is_limited = false;
        for (std::size_t k = 0; k < JOINTS; k++) {
            q[k] = *interfaces_.position[k];
            v[k] = *interfaces_.velocity[k];
            const double wanted = reference_.a[k] + parameters_.kd[k] * (reference_.v[k] - v[k]) +
                                  parameters_.kp[k] * (reference_.q[k] - q[k]);
            if (!std::isfinite(q[k]) || !std::isfinite(wanted))
                return return_type::ERROR; // the manager deactivates the controller
            a[k] = std::clamp(wanted, lowest_[k], highest_[k]);
            is_limited = is_limited || a[k] != wanted;
        }
        statistics_.limited += is_limited;
        Joints tau;
        transport_.begin(parameters_.deadline);
        const Answer answer = ask_device(q, v, a, tau);
        transport_.end();
        switch (answer) {
        case Answer::GOOD:
            held_ = 0;
            statistics_.device++;
            command(tau);
            break;
        case Answer::FLAGGED:
            // where nothing is written, the last command stays
            if (held_ < parameters_.hold_limit) {
                held_++;
                statistics_.held++;
            } else {
                statistics_.gravity++;
                compensate_gravity();
            }
            break;
        case Answer::NONE:
            iiwa14_id(q.data(), v.data(), a.data(), tau.data());
            statistics_.software++;
            command(tau);
        }
        return return_type::OK;
    }

    const Statistics &statistics() const noexcept { return statistics_; }

    // Whether the device is asked.
    bool has_device() const noexcept { return has_device_; }

    // What was wrong last, in a line; empty if nothing was. Not while update() runs.
    const char *message() const noexcept { return message_; }

private:
    enum class Answer { GOOD, FLAGGED, NONE };

    // Number of `a` among the operands of id: q, v, a.
    static constexpr unsigned ACCELERATION = 2;

    Answer ask_device(const Joints &q, const Joints &v, const Joints &a, Joints &tau) noexcept
    {
        if (!has_device_)
            return Answer::NONE;
        std::uint8_t flags = 0;
        const int status = rbd_iiwa14_id_id(&device_, 1, q.data(), v.data(), a.data(), tau.data(), &flags);
        if (status == RBD_OK) {
            late_ = 0;
            if (flags == 0)
                return Answer::GOOD;
            note_flagged(q, v, a);
            return Answer::FLAGGED;
        }
        message_ = rbd_message(&device_);
        if (transport_.is_late()) {
            // the next call asks who is there first, so that a late answer is not taken for another one
            statistics_.late++;
            has_device_ = ++late_ < parameters_.late_limit;
            message_ = "device: did not answer in time; see whether its line or its host is too slow for the deadline";
        } else {
            has_device_ = false;
        }
        return Answer::NONE;
    }

    void note_flagged(const Joints &q, const Joints &v, const Joints &a) noexcept
    {
        const double *const operands[] = {q.data(), v.data(), a.data()};
        const rbd_function &id = rbd_iiwa14_id_design.function[RBD_IIWA14_ID_FUNCTION_ID];
        const std::size_t found =
            rbd_outside(&rbd_iiwa14_id_design, RBD_IIWA14_ID_FUNCTION_ID, operands, 0, 0);
        if (found < id.operand_words) {
            statistics_.flagged_vector = id.takes[id.operands[found].vector].name;
            statistics_.flagged_joint = id.operands[found].entry;
        }
    }

    // Gravity alone, by the emitted C, and friction that brings the arm to rest.
    void compensate_gravity() noexcept
    {
        const Joints zero{};
        Joints q, tau;
        for (std::size_t k = 0; k < JOINTS; k++)
            q[k] = *interfaces_.position[k];
        iiwa14_id(q.data(), zero.data(), zero.data(), tau.data());
        for (std::size_t k = 0; k < JOINTS; k++)
            tau[k] -= parameters_.damping[k] * *interfaces_.velocity[k];
        command(tau);
    }

    void command(const Joints &tau) noexcept
    {
        for (std::size_t k = 0; k < JOINTS; k++) {
            const double limit = parameters_.effort_limit[k];
            *interfaces_.effort[k] = std::clamp(tau[k], -limit, limit);
        }
    }

    Parameters parameters_{};
    Interfaces interfaces_{};
    Reference reference_{};
    Joints lowest_{}, highest_{}; // accelerations
    Statistics statistics_;
    DeadlineTransport transport_;
    rbd_port port_{};
    rbd_device device_{};
    unsigned char workspace_[RBD_IIWA14_ID_WORKSPACE_BYTES];
    bool is_open_ = false, has_device_ = false;
    unsigned late_ = 0, held_ = 0;
    const char *message_;
};
