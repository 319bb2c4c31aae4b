/* Devices in C++17: closed by themselves, errors as exceptions, arrays as views of whatever holds numbers.
 *
 * A design's own class, with its typed calls, is in the header that was generated beside this one.
 */
#ifndef RBDGEN_DEVICE_HPP
#define RBDGEN_DEVICE_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "rbdgen_device.h"
#if defined(__unix__) || defined(__APPLE__)
#include "rbdgen_transport_posix.h"
#define RBDGEN_HAS_PORTS 1
#endif

namespace rbdgen {

/* A call that failed: `what()` is the line that says why, `status()` the code. */
class Error : public std::runtime_error {
public:
    Error(int status, const std::string &text) : std::runtime_error(text), status_(status) {}

    int status() const noexcept { return status_; }

private:
    int status_;
};

/* Numbers that are somewhere else: a pointer and how many, or anything with data() and size(). */
template <class T>
class Span {
public:
    constexpr Span() noexcept = default;

    constexpr Span(T *data, std::size_t size) noexcept : data_(data), size_(size) {}

    template <std::size_t N>
    constexpr Span(T (&array)[N]) noexcept : data_(array), size_(N) {}

    template <class Container,
              class = std::enable_if_t<std::is_convertible_v<decltype(std::declval<Container &>().data()), T *>>>
    constexpr Span(Container &&container) : data_(container.data()), size_(container.size()) {}

    constexpr T *data() const noexcept { return data_; }
    constexpr std::size_t size() const noexcept { return size_; }

private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

using View = Span<const double>;
using Numbers = Span<double>;
using Flags = Span<std::uint8_t>;

/* An accelerator. It may be moved, not copied; a device that was moved from refuses all calls. */
class Device {
public:
    /* The device behind a transport, which is closed with it. */
    Device(const rbd_design &design, const rbd_transport &transport, const rbd_limits *limits = nullptr)
        : design_(&design), state_(std::make_unique<State>())
    {
        open(transport, limits);
    }

    /* The same calls, answered by software. */
    Device(const rbd_design &design, const rbd_software &software)
        : design_(&design), state_(std::make_unique<State>())
    {
        check(rbd_open_software(&state_->device, design_, &software));
    }

#ifdef RBDGEN_HAS_PORTS
    /* The board on a serial port. */
    static Device serial(const rbd_design &design, const std::string &path, unsigned long baud = RBD_BAUD,
                         const rbd_limits *limits = nullptr)
    {
        Device made(design);
        rbd_transport transport;
        made.open_port(rbd_open_serial(&made.state_->port, &transport, path.c_str(), baud));
        made.open(transport, limits);
        return made;
    }

    /* The device behind a TCP port. */
    static Device tcp(const rbd_design &design, const std::string &host, const std::string &service,
                      const rbd_limits *limits = nullptr)
    {
        Device made(design);
        rbd_transport transport;
        made.open_port(rbd_open_tcp(&made.state_->port, &transport, host.c_str(), service.c_str()));
        made.open(transport, limits);
        return made;
    }

    /* The board with Ethernet at an IP address. */
    static Device udp(const rbd_design &design, const std::string &host, const std::string &service = RBD_UDP_PORT,
                      const rbd_limits *limits = nullptr)
    {
        Device made(design);
        rbd_transport transport;
        made.open_port(rbd_open_udp(&made.state_->port, &transport, host.c_str(), service.c_str()));
        made.open(transport, limits);
        return made;
    }
#endif

    void close() noexcept { state_.reset(); }

    /* What the last call wants known though it was answered; empty if nothing. */
    std::string note() const { return state_ ? rbd_note(&state_->device) : ""; }

    /* What the device went through since it was opened. */
    rbd_counters counters() const { return state_ ? state_->device.counters : rbd_counters{}; }

    /* Load parameters by name. */
    void calibrate(const std::vector<std::pair<std::string, double>> &parameters)
    {
        std::vector<const char *> names;
        std::vector<double> values;
        for (const auto &[name, value] : parameters) {
            names.push_back(name.c_str());
            values.push_back(value);
        }
        check(rbd_calibrate(get(), design_, names.size(), names.data(), values.data()));
    }

    /* Call the design's function of this number. Views are in the order of its vectors; they say how many states there
     * are, and must agree. `flags` may be empty. */
    void call(std::size_t function, std::initializer_list<View> operands, std::initializer_list<Numbers> results,
              Flags flags = {})
    {
        if (function >= design_->functions)
            throw Error(RBD_ERROR_ARGUMENT, "function " + std::to_string(function) + ": " + design_->name +
                                                " has only " + std::to_string(design_->functions));
        const rbd_function &known = design_->function[function];
        const std::size_t count = states(known, operands);
        std::vector<const double *> given;
        std::vector<double *> wanted;
        if (results.size() != known.result_vectors)
            throw Error(RBD_ERROR_ARGUMENT, std::string(known.name) + ": gives " +
                                                std::to_string(known.result_vectors) + " results, not " +
                                                std::to_string(results.size()));
        for (const View &view : operands) {
            check_size(known.takes[given.size()], view.size(), count);
            given.push_back(view.data());
        }
        for (const Numbers &view : results) {
            check_size(known.gives[wanted.size()], view.size(), count);
            wanted.push_back(view.data());
        }
        if (flags.size() != 0 && flags.size() != count)
            throw Error(RBD_ERROR_ARGUMENT, "flags: must be one for each of " + std::to_string(count) + " states, not " +
                                                std::to_string(flags.size()));
        if (count != 0)
            check(rbd_call(get(), design_, function, count, given.data(), wanted.data(),
                           flags.size() ? flags.data() : nullptr));
    }

    /* The device for calls of the C library. Error if it is closed. */
    rbd_device *get() const
    {
        if (!state_)
            throw Error(RBD_ERROR_CLOSED, "device: is not open; open it first");
        return &state_->device;
    }

protected:
    /* States in operands, of which there must be as many as the function has. */
    static std::size_t states(const rbd_function &known, std::initializer_list<View> operands)
    {
        if (operands.size() != known.operand_vectors)
            throw Error(RBD_ERROR_ARGUMENT, std::string(known.name) + ": takes " +
                                                std::to_string(known.operand_vectors) + " operands, not " +
                                                std::to_string(operands.size()));
        return operands.begin()->size() / known.takes[0].size;
    }

private:
    /* Stays where it is while the device is moved: the transport points at the port. */
    struct State {
        rbd_device device{};
#ifdef RBDGEN_HAS_PORTS
        rbd_port port{};
#endif
        std::vector<unsigned char> workspace;

        State() = default;
        State(const State &) = delete;
        State &operator=(const State &) = delete;
        ~State() { rbd_close(&device); }
    };

    explicit Device(const rbd_design &design) : design_(&design), state_(std::make_unique<State>()) {}

    void open(const rbd_transport &transport, const rbd_limits *limits)
    {
        state_->workspace.resize(rbd_workspace_bytes(design_));
        check(rbd_open(&state_->device, design_, &transport, state_->workspace.data(), state_->workspace.size(),
                       limits));
    }

#ifdef RBDGEN_HAS_PORTS
    void open_port(int status) const
    {
        if (status != RBD_OK)
            throw Error(status, state_->port.message);
    }
#endif

    void check(int status) const
    {
        if (status == RBD_ERROR_BUSY)
            throw Error(status, std::string("device: ") + rbd_status_text(status) + "; give each thread its own, or lock it");
        if (status != RBD_OK)
            throw Error(status, rbd_message(&state_->device));
    }

    static void check_size(const rbd_vector &vector, std::size_t size, std::size_t count)
    {
        if (size != vector.size * count)
            throw Error(RBD_ERROR_ARGUMENT, std::string(vector.name) + ": must have " + std::to_string(vector.size) +
                                                " numbers for each of " + std::to_string(count) + " states, not " +
                                                std::to_string(size));
    }

    const rbd_design *design_;
    std::unique_ptr<State> state_;
};

} // namespace rbdgen

#endif
