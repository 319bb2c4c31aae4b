"""Parallel algorithms of the literature for serial chains, their step structure visible.

Forward dynamics two ways (JSIIA, CFA), with M, M⁻¹ and inverse dynamics by the same means; inertia in
operational space; forward dynamics in contact. Everything is vectorised over any leading batch shape and, within a
step, over the links: a parallel step of the paper is one NumPy operation here. For each algorithm a function named
``*_steps`` gives its steps for n links: how many independent operations, at which dependency level, over which stride.

Conventions are those of :mod:`rbdgen.golden`: generalised vectors in joint order, spatial vectors [linear, angular], SI
units. Trees are refused by name (UnsupportedError), as all of these algorithms are for serial chains; joints may have
several degrees of freedom. What cannot be inverted is a SingularityError that says what and where.

Accuracy, relative to the largest value of the same result: on random chains of 256 links (0.3 m and 2 kg each) the
two forward dynamics agree with Pinocchio to about 2e-12. An explicit M⁻¹ carries the condition of the M it came from:
at 256 links it is good to 1e-9 from JSIIA, which inverts M, and to 1e-11 from CFA, which never forms it.
"""

from rbdgen.parallel.cfa import cfa_forward_dynamics, cfa_inverse, cfa_steps
from rbdgen.parallel.contact import (
    Contact,
    ContactSolution,
    contact_steps,
    contact_type_1,
    contact_type_2,
)
from rbdgen.parallel.jsiia import (
    jsiia_forward_dynamics,
    jsiia_inverse,
    jsiia_steps,
    scan_mass_matrix,
    scan_mass_matrix_steps,
)
from rbdgen.parallel.odd_even import (
    BlockTridiagonal,
    OddEvenFactors,
    eliminate,
    elimination_steps,
    solution_steps,
)
from rbdgen.parallel.operational_space import (
    OperationalSpace,
    operational_space,
    operational_space_inertia_steps,
    operational_space_inverse_steps,
)
from rbdgen.parallel.random_chain import random_chain
from rbdgen.parallel.scan import (
    Propagator,
    propagator,
    scan_inverse_dynamics,
    scan_inverse_dynamics_steps,
    scan_steps,
)
from rbdgen.parallel.steps import Step, Steps, depth

__all__ = [
    "BlockTridiagonal",
    "Contact",
    "ContactSolution",
    "OddEvenFactors",
    "OperationalSpace",
    "Propagator",
    "Step",
    "Steps",
    "cfa_forward_dynamics",
    "cfa_inverse",
    "cfa_steps",
    "contact_steps",
    "contact_type_1",
    "contact_type_2",
    "depth",
    "eliminate",
    "elimination_steps",
    "jsiia_forward_dynamics",
    "jsiia_inverse",
    "jsiia_steps",
    "operational_space",
    "operational_space_inertia_steps",
    "operational_space_inverse_steps",
    "propagator",
    "random_chain",
    "scan_inverse_dynamics",
    "scan_inverse_dynamics_steps",
    "scan_mass_matrix",
    "scan_mass_matrix_steps",
    "scan_steps",
    "solution_steps",
]
