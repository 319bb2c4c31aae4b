// The wrapper in C++: wrap HOST SERVICE asks the device there, and prints what it answers.
#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include HEADER

namespace {

void software_id(std::size_t count, const double *const *operands, double *const *results)
{
    for (std::size_t k = 0; k < 2 * count; k++)
        results[0][k] = operands[0][k] + 2 * operands[1][k] + 3 * operands[2][k];
}

void software_m(std::size_t count, const double *const *, double *const *results)
{
    for (std::size_t k = 0; k < 4 * count; k++)
        results[0][k] = static_cast<double>(k);
}

const rbd_software_function FUNCTIONS[] = {{"id", 3, 1, software_id}, {"m", 1, 1, software_m}};
const rbd_software SOFTWARE = {"pendulum2", 2, FUNCTIONS};

void print(const char *name, const std::vector<double> &values)
{
    std::printf("%s", name);
    for (double value : values)
        std::printf(" %a", value);
    std::printf("\n");
}

template <class Call>
void refused(Call call)
{
    try {
        call();
    } catch (const rbdgen::Error &error) {
        std::printf("%d %s\n", error.status(), error.what());
    }
}

} // namespace

int main(int count, char **words)
{
    using NAME::Device;
    const std::vector<double> q{0.5, 0.25, -0.5, 0.125}, v{1, 2, 3, 4};
    const std::array<double, 4> a{1, 1, 1, 1};
    const double zeros[4] = {0, 0, 0, 0};
    {
        Device made = count > 3 ? Device::udp(words[1], words[2]) : Device::tcp(words[1], words[2]);
        Device device = std::move(made);
        const auto answer = device.id(q, v, a);
        print("id", answer.tau);
        print("id", device.id(q, zeros, rbdgen::View(zeros, 4)).tau);
        print("m", device.m(q).m);
        std::vector<double> tau(4);
        std::vector<std::uint8_t> flags(2);
        device.id(q, v, a, tau, flags);
        print("id", tau);
        device.id(q, v, a, tau);
        std::printf("flags %d %d, sent %d\n", flags[0], answer.flags[1], static_cast<int>(device.counters().sent));
        const std::vector<double> far{9, 0};
        std::printf("flags %d\n", device.m(far).flags[0]);
        std::printf("%s\n", device.note().c_str());
        device.calibrate({{"p_link1_hz", -0.625}});
        print("id", device.id(q, v, a).tau);
        refused([&] { device.calibrate({{"p_x", 0}}); });
        refused([&] { device.id(q, v, rbdgen::View(zeros, 3)); });
        refused([&] { device.id(rbdgen::View(zeros, 3), v, a); });
        refused([&] { device.id(q, v, a, rbdgen::Numbers(tau.data(), 2)); });
        refused([&] { device.id(q, v, a, tau, rbdgen::Flags(flags.data(), 1)); });
        refused([&] { device.call(0, {q}, {tau}); });
        refused([&] { device.call(0, {q, v, a}, {}); });
        refused([&] { device.call(7, {q}, {tau}); });
        refused([&] { made.m(q); });
        device.close();
        refused([&] { device.m(q); });
    }
    refused([&] { Device::serial("/nowhere"); });
    refused([&] { Device::tcp("127.0.0.1", "1"); });
    refused([&] { Device::udp("127.0.0.1", "1"); });
    Device device(SOFTWARE);
    print("software", device.id(q, v, a).tau);
    const rbd_software other = {"other", 2, FUNCTIONS};
    refused([&] { Device{other}; });
    return 0;
}
