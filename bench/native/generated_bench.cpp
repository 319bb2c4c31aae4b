// Times the code that Pinocchio generates of its own functions by CppADCodeGen, one state at a time; a line for each.
//
// Arguments: a URDF, and "fixed" or "floating". The generated C is compiled with -Ofast, as its wrapper does by default.
#include <pinocchio/codegen/cppadcg-algo.hpp>

#include "robot.hpp"
#include "timing.hpp"

using Vector = Eigen::VectorXd;

template <typename Function, typename Call>
static void measure(const char *name, const pinocchio::Model &model, const Call &call)
{
    Function function(model);
    function.initLib();
    function.compileAndLoadLib(COMPILER);
    print(name, "generated", best(1000, [&]() {
        for (int k = 0; k < 1000; k++)
            call(function);
    }));
}

int main(int, char **argv)
{
    const pinocchio::Model model = robot_of(argv);
    const Vector v = Vector::Random(model.nv), a = Vector::Random(model.nv);
    const Vector q = pinocchio::integrate(model, pinocchio::neutral(model), Vector::Random(model.nv));
    using namespace pinocchio;
    measure<CodeGenRNEA<double>>("id", model, [&](auto &f) { f.evalFunction(q, v, a); });
    measure<CodeGenABA<double>>("fd", model, [&](auto &f) { f.evalFunction(q, v, a); });
    measure<CodeGenCRBA<double>>("m", model, [&](auto &f) { f.evalFunction(q); });
    measure<CodeGenMinv<double>>("minv", model, [&](auto &f) { f.evalFunction(q); });
    measure<CodeGenRNEADerivatives<double>>("did", model, [&](auto &f) { f.evalFunction(q, v, a); });
    measure<CodeGenABADerivatives<double>>("dfd", model, [&](auto &f) { f.evalFunction(q, v, a); });
    return 0;
}
