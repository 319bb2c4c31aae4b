// A transport that ends every wait at a deadline, around one of the library's own.
//
// The library's times are milliseconds and made for lines that are mended by waiting. A control loop has none of that:
// it has to know within its cycle whether there is an answer. Between begin() and end() nothing here sleeps: reading
// polls until the deadline and then says that the other end is gone, writing gives up where not all is taken at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "rbdgen_device.h"

class DeadlineTransport {
public:
    using Clock = std::chrono::steady_clock;

    // The transport for rbd_open; this object must stay where it is until the device is closed.
    rbd_transport around(const rbd_transport &inner) noexcept
    {
        inner_ = inner;
        rbd_transport made = inner;
        made.context = this;
        made.read = read;
        made.write = write;
        made.close = close;
        made.milliseconds = milliseconds;
        made.random = inner.random ? random : nullptr;
        return made;
    }

    void begin(Clock::duration budget) noexcept
    {
        is_late_ = false;
        is_limited_ = true;
        deadline_ = Clock::now() + budget;
    }

    void end() noexcept { is_limited_ = false; }

    // Whether the deadline passed since begin().
    bool is_late() const noexcept { return is_late_; }

private:
    static DeadlineTransport &self(void *context) noexcept { return *static_cast<DeadlineTransport *>(context); }

    static std::ptrdiff_t read(void *context, void *data, std::size_t size, std::uint32_t wait)
    {
        DeadlineTransport &own = self(context);
        if (!own.is_limited_)
            return own.inner_.read(own.inner_.context, data, size, wait);
        do {
            const std::ptrdiff_t got = own.inner_.read(own.inner_.context, data, size, 0);
            if (got != 0)
                return got;
        } while (Clock::now() < own.deadline_);
        own.is_late_ = true;
        return -1;
    }

    static int write(void *context, const void *data, std::size_t size, std::uint32_t wait)
    {
        DeadlineTransport &own = self(context);
        const int status = own.inner_.write(own.inner_.context, data, size, own.is_limited_ ? 0 : wait);
        own.is_late_ = own.is_late_ || status == RBD_ERROR_STUCK;
        return status;
    }

    static void close(void *context) { self(context).inner_.close(self(context).inner_.context); }

    static std::uint64_t milliseconds(void *context)
    {
        return self(context).inner_.milliseconds(self(context).inner_.context);
    }

    static std::uint32_t random(void *context) { return self(context).inner_.random(self(context).inner_.context); }

    rbd_transport inner_{};
    Clock::time_point deadline_{};
    bool is_limited_ = false, is_late_ = false;
};
