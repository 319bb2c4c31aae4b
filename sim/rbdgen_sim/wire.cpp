// A board on Ethernet in a program: datagrams on one side, the RTL's GMII or a netlist's RGMII on the other. What is
// sent to the board becomes a frame of its sender; what the board sends goes to whom it is addressed. The program
// answers the board's ARP requests for any address. MODEL is the class that Verilator makes.
//
// Datagrams come and go by a UDP socket on the loopback: the first line of output is its port, the last the cycles that
// were simulated. Or, where the port is -1, by input and output, in simulated time: "s", a length (4 bytes) and that many
// sends a datagram; "r" and a time in ps (8 bytes) lets the board run until it sends one or as long as that, and is
// answered by the time in ps since the start (8 bytes), a length (4 bytes), and what came. It ends with its input. The
// signal SIGUSR1 resets the board.
//
// Arguments: the UDP port to listen on (0: any), the board's MAC and IPv4 address as numbers and its port, picoseconds
// per cycle of the board's clock, a seed, and how many of 65,536 frames, either way, are lost, doubled, put behind the
// next one, and damaged.

#include MODEL_HEADER
#include "verilated.h"

#include <arpa/inet.h>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <poll.h>
#include <random>
#include <sys/socket.h>
#include <type_traits>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::uint64_t kByte = 8000;          // picoseconds of a byte at a gigabit
constexpr int kResetCycles = 64;
constexpr int kGap = 12;                       // bytes between two frames
constexpr std::size_t kShortest = 60;          // bytes of a frame without its check sum
constexpr int kQuietBytes = 4096;              // without any frame, before input is waited for
constexpr int kBytesPerLook = 256;             // between two looks at the socket
constexpr int kLookMilliseconds = 10;          // for how long a socket is waited for
constexpr int kBytesPerWait = 4096;            // between two such, so that time goes by for the board as well
constexpr std::size_t kMost = 1472;            // bytes of a UDP payload
constexpr std::uint64_t kOwnMac = 0x0200000000FE;
constexpr std::uint32_t kHost = 0xC0A80101;    // of the host in simulated time
constexpr std::uint16_t kHostPort = 50000;

volatile std::sig_atomic_t reset_asked = 0;

void ask_reset(int) { reset_asked = 1; }

std::uint32_t crc32(const std::uint8_t* data, std::size_t size) {
    std::uint32_t crc = ~0u;
    for (std::size_t k = 0; k < size; ++k) {
        crc ^= data[k];
        for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0u);
    }
    return ~crc;
}

void put(Bytes& to, std::uint64_t value, int bytes) {
    while (bytes--) to.push_back(static_cast<std::uint8_t>(value >> 8 * bytes));
}

std::uint64_t get(const Bytes& from, std::size_t begin, int bytes) {
    std::uint64_t value = 0;
    for (int k = 0; k < bytes; ++k) value = value << 8 | from[begin + k];
    return value;
}

std::uint16_t sum16(const Bytes& data, std::size_t begin, std::size_t size) {
    std::uint32_t sum = 0;
    for (std::size_t k = 0; k < size; k += 2) sum += static_cast<std::uint32_t>(get(data, begin + k, 2));
    while (sum >> 16) sum = (sum & 0xFFFF) + (sum >> 16);
    return static_cast<std::uint16_t>(~sum);
}

struct Board {
    std::uint64_t mac;
    std::uint32_t address;
    std::uint16_t port;
};

// Frames in one direction, some of which are lost, doubled, overtaken or damaged.
class Way {
  public:
    Way(const std::array<unsigned, 4>& shares, unsigned seed) : shares_(shares), random_(seed) {}

    std::deque<Bytes> frames;

    void send(Bytes frame) {
        if (happens(0)) return;
        if (happens(3)) frame[random_() % frame.size()] ^= static_cast<std::uint8_t>(1 << random_() % 8);
        const bool twice = happens(1);
        if (happens(2) && late_.empty()) {
            late_.push_back(frame);
            if (!twice) return;
        }
        frames.push_back(frame);
        if (twice && late_.empty()) frames.push_back(frame);
        catch_up();
    }

    void catch_up() {
        for (auto& frame : late_) frames.push_back(std::move(frame));
        late_.clear();
    }

  private:
    bool happens(int what) { return random_() % 65536 < shares_[what]; }

    std::array<unsigned, 4> shares_;
    std::mt19937 random_;
    std::vector<Bytes> late_;
};

// A frame's check sum behind it.
Bytes closed(Bytes frame) {
    frame.resize(std::max(frame.size(), kShortest), 0);
    const std::uint32_t check = crc32(frame.data(), frame.size());
    for (int k = 0; k < 4; ++k) frame.push_back(static_cast<std::uint8_t>(check >> 8 * k));
    return frame;
}

Bytes udp_frame(const Board& board, std::uint32_t address, std::uint16_t port, const Bytes& payload) {
    Bytes frame;
    put(frame, board.mac, 6);
    put(frame, kOwnMac, 6);
    put(frame, 0x0800, 2);
    put(frame, 0x4500, 2);
    put(frame, 28 + payload.size(), 2);
    put(frame, 0, 4);
    put(frame, 0x4011, 2);
    put(frame, 0, 2);
    put(frame, address, 4);
    put(frame, board.address, 4);
    const std::uint16_t check = sum16(frame, 14, 20);
    frame[24] = static_cast<std::uint8_t>(check >> 8);
    frame[25] = static_cast<std::uint8_t>(check);
    put(frame, port, 2);
    put(frame, board.port, 2);
    put(frame, 8 + payload.size(), 2);
    put(frame, 0, 2);
    frame.insert(frame.end(), payload.begin(), payload.end());
    return closed(frame);
}

Bytes arp_answer(const Bytes& asked) {
    Bytes frame(asked.begin() + 6, asked.begin() + 12);
    put(frame, kOwnMac, 6);
    put(frame, 0x0806, 2);
    put(frame, 0x000108000604, 6);
    put(frame, 2, 2);
    put(frame, kOwnMac, 6);
    frame.insert(frame.end(), asked.begin() + 38, asked.begin() + 42);
    frame.insert(frame.end(), asked.begin() + 22, asked.begin() + 32);
    return closed(frame);
}

// Where datagrams come from and go to.
class Network {
  public:
    explicit Network(const Board& board) : board_(board) {}
    virtual ~Network() = default;

    // Take what there is to be sent at time ``now``, if the board is quiet after having waited for it; false at the end.
    virtual bool look(Way& in, bool quiet, std::uint64_t now) = 0;

    // Take a frame that the board sent, its check sum behind it.
    void take(const Bytes& frame, Way& in) {
        if (frame.size() < kShortest + 4 || crc32(frame.data(), frame.size()) != 0x2144DF1C) return;
        const std::uint64_t type = get(frame, 12, 2);
        if (type == 0x0806 && get(frame, 20, 2) == 1) in.frames.push_back(arp_answer(frame));
        if (type != 0x0800 || get(frame, 0, 6) != kOwnMac || frame[23] != 0x11) return;
        const std::size_t length = get(frame, 38, 2);
        const bool whole = sum16(frame, 14, 20) == 0 && get(frame, 16, 2) == length + 20 &&
                           length + 38 <= frame.size() && get(frame, 26, 4) == board_.address &&
                           get(frame, 34, 2) == board_.port;
        if (!whole) {
            std::fprintf(stderr, "a frame is no datagram\n");
            std::exit(1);
        }
        deliver(static_cast<std::uint32_t>(get(frame, 30, 4)), static_cast<std::uint16_t>(get(frame, 36, 2)),
                Bytes(frame.begin() + 42, frame.begin() + 34 + static_cast<std::ptrdiff_t>(length)));
    }

  protected:
    virtual void deliver(std::uint32_t address, std::uint16_t port, const Bytes& payload) = 0;

    void send(Way& in, std::uint32_t address, std::uint16_t port, const Bytes& payload) const {
        if (payload.size() <= kMost) in.send(udp_frame(board_, address, port, payload));
    }

  private:
    Board board_;
};

class Socket : public Network {
  public:
    Socket(const Board& board, std::uint16_t port) : Network(board), socket_(::socket(AF_INET, SOCK_DGRAM, 0)) {
        sockaddr_in own{};
        own.sin_family = AF_INET;
        own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        own.sin_port = htons(port);
        const int room = 1 << 20;
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
        if (::bind(socket_, reinterpret_cast<sockaddr*>(&own), sizeof own)) {
            std::perror("port");
            std::exit(1);
        }
        socklen_t size = sizeof own;
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&own), &size);
        std::printf("%d\n", ntohs(own.sin_port));
        std::fflush(stdout);
    }

    bool look(Way& in, bool quiet, std::uint64_t) override {
        if (!quiet && ++passed_ < kBytesPerLook) return true;
        passed_ = 0;
        pollfd looked[2] = {{socket_, POLLIN, 0}, {0, POLLIN, 0}};
        const bool waits = quiet && ++idle_ >= kBytesPerWait;
        if (waits) idle_ = 0;
        if (quiet && !waits) return true;
        if (::poll(looked, 2, waits ? kLookMilliseconds : 0) <= 0) return true;
        if (looked[1].revents) {
            char byte;
            if (::read(0, &byte, 1) <= 0) return false;
        }
        while (true) {
            Bytes payload(65536);
            sockaddr_in from{};
            socklen_t size = sizeof from;
            const ssize_t n = ::recvfrom(socket_, payload.data(), payload.size(), MSG_DONTWAIT,
                                         reinterpret_cast<sockaddr*>(&from), &size);
            if (n < 0) return true;
            payload.resize(static_cast<std::size_t>(n));
            send(in, ntohl(from.sin_addr.s_addr), ntohs(from.sin_port), payload);
        }
    }

  protected:
    void deliver(std::uint32_t address, std::uint16_t port, const Bytes& payload) override {
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_addr.s_addr = htonl(address);
        to.sin_port = htons(port);
        ::sendto(socket_, payload.data(), payload.size(), 0, reinterpret_cast<sockaddr*>(&to), sizeof to);
    }

  private:
    int socket_;
    int passed_ = 0, idle_ = 0;
};

// The PHY's side of a board's pins: it puts a byte that comes, and takes one that is sent, between a falling edge of its
// clock and the next one. Those of GMII, with a reset.
template <class Model, class = void>
class Pads {
  public:
    explicit Pads(Model& top) : top_(top) {}

    void reset(bool level) { top_.rst = level; }
    bool idle() const { return top_.idle; }
    bool sends() const { return top_.eth_tx_en; }
    std::uint8_t sent() const { return top_.eth_tx_data; }

    void edge(bool rising) {
        top_.eth_rx_clk = top_.eth_tx_clk = rising;
        top_.eval();
    }

    void put(bool valid, std::uint8_t byte) {
        top_.eth_rx_dv = valid;
        top_.eth_rx_data = byte;
        top_.eval();
    }

  private:
    Model& top_;
};

// Those of RGMII: the lower half of a byte around the rising edge, the upper one around the falling one. A netlist has
// no reset, and does not say whether it is idle.
template <class Model>
class Pads<Model, std::void_t<decltype(std::declval<Model&>().eth_rx_ctl)>> {
  public:
    explicit Pads(Model& top) : top_(top) {}

    void reset(bool) {}
    bool idle() const { return true; }
    bool sends() const { return sends_; }
    std::uint8_t sent() const { return static_cast<std::uint8_t>(high_ << 4 | low_); }

    void edge(bool rising) {
        top_.eth_rx_clk = rising;
        top_.eval();
        if (rising) {
            low_ = top_.eth_tx_data;
            sends_ = top_.eth_tx_ctl;
            show(byte_ >> 4);
        } else {
            high_ = top_.eth_tx_data;
        }
    }

    void put(bool valid, std::uint8_t byte) {
        valid_ = valid;
        byte_ = byte;
        show(byte & 15);
    }

  private:
    Model& top_;
    bool valid_ = false, sends_ = false;
    unsigned byte_ = 0, low_ = 0, high_ = 0;

    void show(unsigned half) {
        top_.eth_rx_ctl = valid_;
        top_.eth_rx_data = half;
        top_.eval();
    }
};

// One host, in simulated time.
class Steps : public Network {
  public:
    using Network::Network;

    bool look(Way& in, bool, std::uint64_t now) override {
        if (begun_ && came_.empty() && now < until_) return true;
        if (begun_) answer(now);
        begun_ = true;
        while (true) {
            const int what = std::getchar();
            if (what == 's') {
                send(in, kHost, kHostPort, read(static_cast<std::size_t>(number(4))));
            } else if (what == 'r') {
                until_ = now + number(8);
                return true;
            } else {
                return false;
            }
        }
    }

  protected:
    void deliver(std::uint32_t address, std::uint16_t port, const Bytes& payload) override {
        if (address == kHost && port == kHostPort) came_.push_back(payload);
    }

  private:
    void answer(std::uint64_t now) {
        Bytes payload;
        if (!came_.empty()) {
            payload = came_.front();
            came_.pop_front();
        }
        const auto size = static_cast<std::uint32_t>(payload.size());
        std::fwrite(&now, sizeof now, 1, stdout);
        std::fwrite(&size, sizeof size, 1, stdout);
        std::fwrite(payload.data(), 1, payload.size(), stdout);
        std::fflush(stdout);
    }

    static std::uint64_t number(int bytes) {
        std::uint64_t value = 0;
        for (int k = 0; k < bytes; ++k) value |= static_cast<std::uint64_t>(std::getchar() & 0xFF) << 8 * k;
        return value;
    }

    static Bytes read(std::size_t size) {
        Bytes data(size);
        if (std::fread(data.data(), 1, size, stdin) != size) std::exit(0);
        return data;
    }

    bool begun_ = false;
    std::uint64_t until_ = 0;
    std::deque<Bytes> came_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 11) return 2;
    const auto number = [&](int k) { return std::strtoull(argv[k], nullptr, 0); };
    const Board board{number(2), static_cast<std::uint32_t>(number(3)), static_cast<std::uint16_t>(number(4))};
    const std::uint64_t half = number(5) / 2;
    std::array<unsigned, 4> shares;
    for (int k = 0; k < 4; ++k) shares[k] = static_cast<unsigned>(number(7 + k));
    Way in(shares, static_cast<unsigned>(number(6))), out(shares, static_cast<unsigned>(number(6)) + 1);
    const bool steps = argv[1][0] == '-';
    std::unique_ptr<Network> network;
    if (steps) network = std::make_unique<Steps>(board);
    else network = std::make_unique<Socket>(board, static_cast<std::uint16_t>(number(1)));

    VerilatedContext context;
    context.commandArgs(argc, argv);
    MODEL top{&context};
    Pads<MODEL> pads{top};
    std::signal(SIGUSR1, ask_reset);

    std::uint64_t cycles = 0, edge = half, byte = kByte / 2;
    int resetting = kResetCycles, quiet = 0, gap = 0;
    bool open = true, rising = false;
    Bytes sending, coming;
    std::size_t sent = 0;
    pads.reset(true);
    while (open) {
        if (edge < byte) {
            edge += half;
            top.clk = !top.clk;
            top.eval();
            if (!top.clk) continue;
            ++cycles;
            if (resetting && !--resetting) pads.reset(false);
            continue;
        }
        byte += kByte / 2;
        rising = !rising;
        pads.edge(rising);
        if (!rising) {
            // what comes changes behind the falling edge
            const bool starts = sent == sending.size() && gap == 0 && !in.frames.empty();
            if (starts) {
                sending.assign(7, 0x55);
                sending.push_back(0xD5);
                sending.insert(sending.end(), in.frames.front().begin(), in.frames.front().end());
                in.frames.pop_front();
                sent = 0;
            }
            const bool comes = sent < sending.size();
            pads.put(comes, comes ? sending[sent] : 0);
            if (comes && ++sent == sending.size()) gap = kGap + 1;
            if (gap > 0 && !comes) --gap;
            const bool ends = !pads.sends() && !coming.empty();
            if (pads.sends()) coming.push_back(pads.sent());
            if (ends) {
                out.send(Bytes(coming.begin() + 8, coming.end()));
                coming.clear();
            }
            for (; !out.frames.empty(); out.frames.pop_front()) network->take(out.frames.front(), in);
            const bool busy = comes || pads.sends() || !pads.idle() || !in.frames.empty();
            quiet = busy ? 0 : quiet + 1;
            continue;
        }
        if (reset_asked) {
            reset_asked = 0;
            resetting = kResetCycles;
            pads.reset(true);
        }
        const bool is_quiet = quiet >= kQuietBytes;
        if (is_quiet) {
            in.catch_up();
            out.catch_up();
        }
        if (!resetting) open = network->look(in, is_quiet, byte);
    }
    if (!steps) std::printf("%llu\n", static_cast<unsigned long long>(cycles));
    top.final();
    return 0;
}
