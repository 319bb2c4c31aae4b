"""Word lengths for an error target: what searches formats and says why they are right.

:mod:`rbdgen.wordlength.search` is where it starts: it predicts errors (:mod:`~rbdgen.wordlength.sensitivity`,
:mod:`~rbdgen.wordlength.error_bounds`), chooses a format for each signal (:mod:`~rbdgen.wordlength.lengths`,
:mod:`~rbdgen.wordlength.lengths`), makes the graph of that choice (:mod:`~rbdgen.wordlength.assembly`) and measures it
with the bit-true model (:mod:`~rbdgen.wordlength.experiment`).
"""
