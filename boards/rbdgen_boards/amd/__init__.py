"""AMD's devices beside what their own tool does of them (:mod:`rbdgen_boards.vivado`)."""
