// A device in a program: bytes from standard input go through the RTL's byte link, what comes back to standard output.
// MODEL is the class that Verilator makes. It waits for input only when the design has nothing left to do. The signal
// SIGUSR1 resets the design, at whatever it is.

#include MODEL_HEADER
#include "verilated.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <poll.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr int kResetCycles = 4;
constexpr int kQuietCycles = 64;       // without any byte, before input is waited for
constexpr int kCyclesPerLook = 256;    // between two looks at the input while the design works
constexpr std::size_t kChunk = 65536;
constexpr int kLookMilliseconds = 50;  // between two looks for a signal while input is waited for

volatile std::sig_atomic_t reset_asked = 0;

void ask_reset(int) { reset_asked = 1; }

void write_all(std::vector<std::uint8_t>& bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t n = ::write(1, bytes.data() + done, bytes.size() - done);
        if (n < 0 && errno != EINTR) std::exit(1);
        if (n > 0) done += static_cast<std::size_t>(n);
    }
    bytes.clear();
}

}  // namespace

int main(int argc, char** argv) {
    VerilatedContext context;
    context.commandArgs(argc, argv);
    MODEL top{&context};
    std::vector<std::uint8_t> input, output;
    std::size_t next = 0;
    bool open = true;

    const auto tick = [&] {
        top.clk = 0;
        top.eval();
        top.clk = 1;
        top.eval();
    };
    const auto reset = [&] {
        reset_asked = 0;
        top.in_valid = 0;
        top.rst = 1;
        for (int k = 0; k < kResetCycles; ++k) tick();
        top.rst = 0;
    };
    std::signal(SIGUSR1, ask_reset);
    top.out_ready = 1;
    reset();

    int quiet = 0;
    for (std::uint64_t cycle = 0;; ++cycle) {
        if (reset_asked) reset();
        if (next == input.size() && open && (quiet >= kQuietCycles || cycle % kCyclesPerLook == 0)) {
            const bool wait = quiet >= kQuietCycles;
            if (wait) write_all(output);
            pollfd in{0, POLLIN, 0};
            if (::poll(&in, 1, wait ? kLookMilliseconds : 0) > 0) {
                input.resize(kChunk);
                const ssize_t n = ::read(0, input.data(), kChunk);
                input.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
                next = 0;
                open = n > 0;
            }
        }
        if (!open && quiet >= kQuietCycles) break;
        top.in_valid = next < input.size();
        if (top.in_valid) top.in_payload = input[next];
        top.clk = 0;
        top.eval();
        const bool taken = top.in_valid && top.in_ready;
        const bool given = top.out_valid;
        if (given) output.push_back(top.out_payload);
        quiet = taken || given || !top.idle ? 0 : quiet + 1;
        top.clk = 1;
        top.eval();
        if (taken) ++next;
        if (output.size() >= kChunk) write_all(output);
    }
    write_all(output);
    top.final();
    return 0;
}
