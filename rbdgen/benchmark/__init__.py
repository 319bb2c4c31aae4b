"""A benchmark of rigid-body dynamics for everyone: the same states, one float64 oracle, a status for every cell.

``task`` has what is computed and what is right, ``cells`` the rules for one function of one implementation, ``running``
all of them in turns, ``results`` the file that others add to, ``text`` the page. Each implementation is a file in
``adapters``. Not for published figures: those are :mod:`rbdgen.report.published`'s.
"""
