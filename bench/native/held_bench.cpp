// Times Pinocchio's C++ and this project's C of a robot with frames, that contacts at them or a loop hold.
//
// Arguments: a URDF, "fixed" or "floating", the number of states, a file of q, v, a, tau, M^-1 state after state, the
// damping of constraints, "contacts" or "loop", and frames: link, x, y, z each (m). Contacts are points; a loop keeps
// the origins of two frames together, of which the second may be on the base, or the first frame's and the base's.
#include <fstream>
#include <string>
#include <vector>

// GCC 12 fails at Pinocchio's static_assert(false) in a template that nothing makes (constraints/utils.hxx)
#if defined(__GNUC__) && __GNUC__ == 12
#define static_assert(...)
#endif
#include <pinocchio/algorithm/constrained-dynamics-derivatives.hpp>
#include <pinocchio/algorithm/constrained-dynamics.hpp>
#include <pinocchio/algorithm/frames.hpp>
#include <pinocchio/algorithm/impulse-dynamics.hpp>
#include <pinocchio/algorithm/jacobian.hpp>

#include "robot.hpp"
#include "timing.hpp"

using Vector = Eigen::VectorXd;
using Constraints = std::vector<pinocchio::RigidConstraintModel,
                                Eigen::aligned_allocator<pinocchio::RigidConstraintModel>>;
using Held = std::vector<pinocchio::RigidConstraintData, Eigen::aligned_allocator<pinocchio::RigidConstraintData>>;

int main(int argc, char **argv)
{
    pinocchio::Model model = robot_of(argv);
    const size_t count = std::stoul(argv[3]);
    const double damping = std::stod(argv[5]);
    const bool loop = std::string(argv[6]) == "loop";
    std::vector<pinocchio::FrameIndex> frames;
    for (int k = 7; k + 3 < argc; k += 4) {
        const pinocchio::Frame &link = model.frames[model.getFrameId(argv[k])];
        const Eigen::Vector3d away(std::stod(argv[k + 1]), std::stod(argv[k + 2]), std::stod(argv[k + 3]));
        const pinocchio::SE3 place = link.placement * pinocchio::SE3(Eigen::Matrix3d::Identity(), away);
        const std::string name = "held" + std::to_string(k);
        frames.push_back(
            model.addFrame(pinocchio::Frame(name, link.parentJoint, link.parentFrame, place, pinocchio::OP_FRAME)));
    }
    pinocchio::Data data(model);
    const int nq = model.nq, nv = model.nv;
    std::vector<double> q(count * nq), v(count * nv), a(count * nv), tau(count * nv), minv(count * nv * nv);
    std::ifstream file(argv[4], std::ios::binary);
    for (auto *x : {&q, &v, &a, &tau, &minv})
        file.read(reinterpret_cast<char *>(x->data()), static_cast<std::streamsize>(x->size() * sizeof(double)));

    Constraints models;
    if (loop) {
        const pinocchio::Frame &first = model.frames[frames[0]];
        const bool both = frames.size() > 1;
        models.emplace_back(pinocchio::CONTACT_3D, model, first.parentJoint, first.placement,
                            both ? model.frames[frames[1]].parentJoint : 0,
                            both ? model.frames[frames[1]].placement : pinocchio::SE3::Identity(),
                            pinocchio::LOCAL);
    } else {
        for (const auto index : frames) {
            const pinocchio::Frame &frame = model.frames[index];
            models.emplace_back(pinocchio::CONTACT_3D, model, frame.parentJoint, frame.placement, pinocchio::LOCAL);
        }
    }
    Held held;
    for (const auto &constraint : models)
        held.emplace_back(constraint);
    pinocchio::initConstraintDynamics(model, data, models, held);
    pinocchio::ProximalSettings once(1e-12, damping, 1);

    const auto state = [](const std::vector<double> &x, size_t k, int n) {
        return Eigen::Map<const Vector>(x.data() + k * n, n);
    };
#define PINOCCHIO(name, ...) print(#name, "pinocchio", best(count, [&]() { \
    for (size_t k = 0; k < count; k++) { __VA_ARGS__; } }))
    if (loop) {
        PINOCCHIO(lfd, pinocchio::constraintDynamics(model, data, state(q, k, nq), state(v, k, nv), state(tau, k, nv),
                                                     models, held, once));
    } else {
        pinocchio::Data::Matrix6x rate(6, nv);
        rate.setZero();
        PINOCCHIO(djac,
                  pinocchio::computeJointJacobiansTimeVariation(model, data, state(q, k, nq), state(v, k, nv));
                  for (const auto index : frames)
                      pinocchio::getFrameJacobianTimeVariation(model, data, index, pinocchio::LOCAL, rate));
        PINOCCHIO(dcfd,
                  pinocchio::constraintDynamics(model, data, state(q, k, nq), state(v, k, nv), state(tau, k, nv),
                                                models, held, once);
                  pinocchio::computeConstraintDynamicsDerivatives(model, data, models, held, once));
        PINOCCHIO(impulse, pinocchio::impulseDynamics(model, data, state(q, k, nq), state(v, k, nv), models, held, 0.5,
                                                      once));
    }
    time_library(count, q, v, a, tau, minv);
    return 0;
}
