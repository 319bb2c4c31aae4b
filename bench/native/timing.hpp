// How long a state takes, and what is printed of it.
#pragma once
#include <chrono>
#include <cstdio>
#include <functional>
#include <vector>

using Numbers = std::vector<double>;

// Times the C library's functions at these states, which lie one after the other.
void time_library(size_t count, const Numbers &q, const Numbers &v, const Numbers &a, const Numbers &tau,
                  const Numbers &minv);

inline double seconds()
{
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

// Nanoseconds per state: the best of several rounds, of which each takes some milliseconds.
inline double best(size_t states, const std::function<void()> &round)
{
    double least = 1e9;
    round();
    double once = seconds();
    round();
    once = seconds() - once;
    const int repeats = once > 5e-3 ? 1 : static_cast<int>(5e-3 / once) + 1;
    for (int k = 0; k < 9; k++) {
        const double begin = seconds();
        for (int r = 0; r < repeats; r++)
            round();
        const double taken = (seconds() - begin) / repeats;
        least = taken < least ? taken : least;
    }
    return least / static_cast<double>(states) * 1e9;
}

inline void print(const char *function, const char *who, double nanoseconds)
{
    std::printf("%s %s %.3f\n", function, who, nanoseconds);
    std::fflush(stdout);
}
