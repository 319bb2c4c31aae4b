// Times Pinocchio's C++ and this project's C side by side, one state at a time and in batches; a line of text for each.
//
// Arguments: a URDF, "fixed" or "floating", the number of states, and a file of q, v, a, tau, M^-1 state after state.
#include <fstream>
#include <string>
#include <vector>

#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea-derivatives.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include "robot.hpp"
#include "timing.hpp"

using Vector = Eigen::VectorXd;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

int main(int, char **argv)
{
    const pinocchio::Model model = robot_of(argv);
    pinocchio::Data data(model);
    const int nq = model.nq, nv = model.nv;
    const size_t count = std::stoul(argv[3]);
    std::vector<double> q(count * nq), v(count * nv), a(count * nv), tau(count * nv), minv(count * nv * nv);
    std::ifstream file(argv[4], std::ios::binary);
    for (auto *x : {&q, &v, &a, &tau, &minv})
        file.read(reinterpret_cast<char *>(x->data()), static_cast<std::streamsize>(x->size() * sizeof(double)));

    const auto state = [](const std::vector<double> &x, size_t k, int n) {
        return Eigen::Map<const Vector>(x.data() + k * n, n);
    };
    Rows by_q = Rows::Zero(nv, nv), by_v = Rows::Zero(nv, nv);
#define PINOCCHIO(name, ...) print(#name, "pinocchio", best(count, [&]() { \
    for (size_t k = 0; k < count; k++) { __VA_ARGS__; } }))
    PINOCCHIO(id, pinocchio::rnea(model, data, state(q, k, nq), state(v, k, nv), state(a, k, nv)));
    PINOCCHIO(fd, pinocchio::aba(model, data, state(q, k, nq), state(v, k, nv), state(tau, k, nv)));
    PINOCCHIO(m, pinocchio::crba(model, data, state(q, k, nq)));
    PINOCCHIO(minv, pinocchio::computeMinverse(model, data, state(q, k, nq)));
    PINOCCHIO(did, pinocchio::computeRNEADerivatives(model, data, state(q, k, nq), state(v, k, nv), state(a, k, nv)));
    PINOCCHIO(dfd, pinocchio::computeABADerivatives(model, data, state(q, k, nq), state(v, k, nv), state(tau, k, nv)));
    PINOCCHIO(difd, pinocchio::computeRNEADerivatives(model, data, state(q, k, nq), state(v, k, nv), state(a, k, nv));
              Eigen::Map<const Rows> inverse(minv.data() + k * nv * nv, nv, nv);
              by_q.noalias() = -inverse * data.dtau_dq; by_v.noalias() = -inverse * data.dtau_dv);
    time_library(count, q, v, a, tau, minv);
    return 0;
}
