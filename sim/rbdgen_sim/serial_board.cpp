// A board in a program: a netlist with the pins clk, rx, tx, driven as by a serial line (8 bits, no parity, one stop
// bit). MODEL is the class that Verilator makes. Time is simulated only while the host waits: a request on standard
// input is a count and so many bytes to send; the answer on standard output is a count and the bytes that came until
// the line was quiet. Arguments: cycles of clk per bit, cycles without a byte after which the answer is empty.

#include MODEL_HEADER
#include "verilated.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <vector>

namespace {

constexpr int kDataBits = 8;
constexpr double kFrameBits = 10.0;
constexpr double kQuietBits = 12.0;     // after the last byte, before what came is given to the host
constexpr std::size_t kEnough = 4096;   // bytes that are given to the host though more may come

bool read_all(void* into, std::size_t size) { return std::fread(into, 1, size, stdin) == size; }

// The host's side of the line towards the board.
class Sender {
public:
    explicit Sender(double bit) : bit_(bit) {}

    std::deque<std::uint8_t> bytes;

    bool busy() const { return !bytes.empty() || sending_; }

    // the line's level in the next cycle
    bool level() {
        if (!sending_) {
            if (bytes.empty()) return true;
            frame_ = 1u << (kDataBits + 1) | static_cast<unsigned>(bytes.front()) << 1;
            bytes.pop_front();
            sending_ = true;
            place_ = 0.0;
        }
        const bool high = frame_ >> static_cast<int>(place_ / bit_) & 1u;
        place_ += 1.0;
        if (place_ >= kFrameBits * bit_) sending_ = false;
        return high;
    }

private:
    double bit_, place_ = 0.0;
    unsigned frame_ = 0;
    bool sending_ = false;
};

// The host's side of the line from the board.
class Receiver {
public:
    explicit Receiver(double bit) : bit_(bit) {}

    std::vector<std::uint8_t> bytes;
    bool active = false;

    void take(bool level) {
        if (!active) {
            if (level) return;
            active = true;
            place_ = 0.0;
            number_ = 0;
            byte_ = 0;
            return;
        }
        place_ += 1.0;
        // in the middle of each bit
        if (place_ < (number_ + 0.5) * bit_) return;
        if (number_ > kDataBits) {
            if (level) bytes.push_back(static_cast<std::uint8_t>(byte_));
            active = false;
        } else if (number_ > 0) {
            byte_ |= static_cast<unsigned>(level) << (number_ - 1);
        }
        ++number_;
    }

private:
    double bit_, place_ = 0.0;
    int number_ = 0;
    unsigned byte_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    VerilatedContext context;
    context.commandArgs(argc, argv);
    if (argc != 3) return 2;
    const double bit = std::atof(argv[1]);
    const auto patience = static_cast<std::uint64_t>(std::atoll(argv[2]));
    const auto quiet = static_cast<std::uint64_t>(kQuietBits * bit);
    MODEL top{&context};
    Sender sender(bit);
    Receiver receiver(bit);
    top.rx = 1;
    std::uint32_t count = 0;
    while (read_all(&count, sizeof count)) {
        std::vector<std::uint8_t> input(count);
        if (count && !read_all(input.data(), count)) return 1;
        sender.bytes.insert(sender.bytes.end(), input.begin(), input.end());
        std::uint64_t silent = 0;
        for (;;) {
            const std::size_t came = receiver.bytes.size();
            if (came >= kEnough) break;
            if (!sender.busy() && silent >= (came ? quiet : patience)) break;
            top.rx = sender.level();
            top.clk = 0;
            top.eval();
            top.clk = 1;
            top.eval();
            receiver.take(top.tx);
            silent = receiver.active || sender.busy() ? 0 : silent + 1;
        }
        count = static_cast<std::uint32_t>(receiver.bytes.size());
        std::fwrite(&count, sizeof count, 1, stdout);
        std::fwrite(receiver.bytes.data(), 1, count, stdout);
        std::fflush(stdout);
        receiver.bytes.clear();
    }
    top.final();
    return 0;
}
