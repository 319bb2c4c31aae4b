"""The algorithms, each written once over abstract scalars (:mod:`rbdgen.spatial`)."""
