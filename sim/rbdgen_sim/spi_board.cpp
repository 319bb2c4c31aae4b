// A board in a program: a shell with the pins clk, sck, cs_n, mosi and miso, driven as by a host's SPI bus (mode 0,
// highest bit first), and rst, which a board's netlist has not. MODEL is the class that Verilator makes. Time passes
// only in transactions: a request on standard input is a count and so many bytes; the answer on standard output are as
// many bytes that came meanwhile. The signal SIGUSR1 resets the design before the next one. Arguments: cycles of clk in
// one of sck, the share of a half of it by which each edge may be early or late, a seed.

#include MODEL_HEADER
#include "verilated.h"

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

namespace {

constexpr int kResetCycles = 4;
constexpr int kBits = 8;
constexpr double kLead = 5.0;  // cycles from select to the first edge, and from the last one to deselect
constexpr double kGap = 5.0;   // cycles between two transactions

volatile std::sig_atomic_t reset_asked = 0;

void ask_reset(int) { reset_asked = 1; }

bool read_all(void* into, std::size_t size) { return std::fread(into, 1, size, stdin) == size; }

// The first where a model has such a pin, the second where it has none.
template <class Model>
auto set_reset(Model& top, bool level, int) -> decltype(top.rst, void()) {
    top.rst = level;
}

template <class Model>
void set_reset(Model&, bool, long) {}

class Board {
public:
    Board(VerilatedContext* context, double period, double jitter, unsigned seed)
        : top_{context}, half_(period / 2.0), random_(seed), share_(-jitter, jitter) {
        top_.cs_n = 1;
        reset();
    }

    ~Board() { top_.final(); }

    void reset() {
        set_reset(top_, true, 0);
        for (int k = 0; k < kResetCycles; ++k) tick();
        set_reset(top_, false, 0);
    }

    std::vector<std::uint8_t> transfer(const std::vector<std::uint8_t>& sent) {
        std::vector<std::uint8_t> came;
        top_.cs_n = 0;
        pass(kLead);
        // each edge is late or early by itself: a period is as long on the average
        double edge = now_;
        for (const std::uint8_t byte : sent) {
            unsigned read = 0;
            for (int bit = kBits - 1; bit >= 0; --bit) {
                top_.mosi = byte >> bit & 1u;
                until(edge + half_ * share_(random_));
                read = read << 1 | top_.miso;
                top_.sck = 1;
                until(edge + half_ * (1.0 + share_(random_)));
                top_.sck = 0;
                edge += 2.0 * half_;
            }
            came.push_back(static_cast<std::uint8_t>(read));
        }
        pass(kLead);
        top_.cs_n = 1;
        pass(kGap);
        return came;
    }

private:
    MODEL top_;
    double half_, now_ = 0.0;
    std::uint64_t cycle_ = 0;
    std::mt19937 random_;
    std::uniform_real_distribution<double> share_;

    void tick() {
        top_.clk = 0;
        top_.eval();
        top_.clk = 1;
        top_.eval();
        ++cycle_;
    }

    // clk's edges up to a time in its cycles, which lies anywhere between two of them
    void until(double time) {
        if (time > now_) now_ = time;
        while (static_cast<double>(cycle_) < now_) tick();
    }

    void pass(double cycles) { until(now_ + cycles); }
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    VerilatedContext context;
    context.commandArgs(argc, argv);
    Board board(&context, std::atof(argv[1]), std::atof(argv[2]), static_cast<unsigned>(std::atoi(argv[3])));
    std::signal(SIGUSR1, ask_reset);
    std::uint32_t count = 0;
    while (read_all(&count, sizeof count)) {
        std::vector<std::uint8_t> sent(count);
        if (count && !read_all(sent.data(), count)) return 1;
        if (reset_asked) {
            reset_asked = 0;
            board.reset();
        }
        const std::vector<std::uint8_t> came = board.transfer(sent);
        std::fwrite(came.data(), 1, came.size(), stdout);
        std::fflush(stdout);
    }
    return 0;
}
