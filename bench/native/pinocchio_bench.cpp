// Times Pinocchio's C++ and this project's C side by side, one state at a time and in batches; a line of text for each.
//
// Arguments: a URDF, "fixed" or "floating", the number of states, and a file of q, v, a, tau, M^-1 state after state.
#include <fstream>
#include <string>
#include <vector>

#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/center-of-mass.hpp>
#include <pinocchio/algorithm/centroidal-derivatives.hpp>
#include <pinocchio/algorithm/centroidal.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/energy.hpp>
#include <pinocchio/algorithm/regressor.hpp>
#include <pinocchio/algorithm/rnea-second-order-derivatives.hpp>
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
    // functions beside the seven: what gives the same results as ours
    Eigen::MatrixXd dh_dq(6, nv), rate_dq(6, nv), rate_dv(6, nv), rate_da(6, nv);
    pinocchio::Data::Tensor3x qq(nv, nv, nv), vv(nv, nv, nv), qv(nv, nv, nv), aq(nv, nv, nv);
    for (auto *tensor : {&qq, &vv, &qv, &aq})
        tensor->setZero();
    PINOCCHIO(com, pinocchio::centerOfMass(model, data, state(q, k, nq), state(v, k, nv));
              pinocchio::jacobianCenterOfMass(model, data, state(q, k, nq)));
    PINOCCHIO(cmm, pinocchio::ccrba(model, data, state(q, k, nq), state(v, k, nv)));
    PINOCCHIO(dcmm, pinocchio::dccrba(model, data, state(q, k, nq), state(v, k, nv));
              pinocchio::computeCentroidalMomentumTimeVariation(model, data, state(q, k, nq), state(v, k, nv),
                                                                state(a, k, nv)));
    PINOCCHIO(dcent, pinocchio::computeCentroidalDynamicsDerivatives(model, data, state(q, k, nq), state(v, k, nv),
                                                                     state(a, k, nv), dh_dq, rate_dq, rate_dv,
                                                                     rate_da));
    PINOCCHIO(energy, pinocchio::computeKineticEnergy(model, data, state(q, k, nq), state(v, k, nv));
              pinocchio::computePotentialEnergy(model, data, state(q, k, nq)));
    PINOCCHIO(coriolis, pinocchio::computeCoriolisMatrix(model, data, state(q, k, nq), state(v, k, nv)));
    PINOCCHIO(regressor, pinocchio::computeJointTorqueRegressor(model, data, state(q, k, nq), state(v, k, nv),
                                                                state(a, k, nv)));
    PINOCCHIO(eregressor, pinocchio::computeKineticEnergyRegressor(model, data, state(q, k, nq), state(v, k, nv));
              pinocchio::computePotentialEnergyRegressor(model, data, state(q, k, nq)));
    PINOCCHIO(d2id, pinocchio::ComputeRNEASecondOrderDerivatives(model, data, state(q, k, nq), state(v, k, nv),
                                                                 state(a, k, nv), qq, vv, qv, aq));
    time_library(count, q, v, a, tau, minv);
    return 0;
}
