// The robot of a bench, by Pinocchio: arguments are a URDF, and "fixed" or "floating".
#pragma once
#include <string>

#include <pinocchio/parsers/urdf.hpp>

inline pinocchio::Model robot_of(char **argv)
{
    pinocchio::Model model;
    if (std::string(argv[2]) == "floating")
        pinocchio::urdf::buildModel(argv[1], pinocchio::JointModelFreeFlyer(), model);
    else
        pinocchio::urdf::buildModel(argv[1], model);
    return model;
}
