"""From a robot to a network of submodules: the equivalent robot, and the trace of the algorithms over it."""
