"""Configuration of the documentation site: ``make docs``."""

from importlib.metadata import version as installed_version

project = "rbdgen"
author = "the authors of rbdgen"
copyright = "the authors of rbdgen, Apache-2.0"
version = release = installed_version("rbdgen")

extensions = ["myst_parser", "sphinx.ext.doctest"]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["build"]

html_theme = "furo"
html_title = f"rbdgen {version}"
html_show_sphinx = False
html_copy_source = False

# only blocks that say so are tests; they are run by tests/docs
doctest_test_doctest_blocks = ""
doctest_global_setup = """
import warnings
import numpy as np
import rbdgen
np.set_printoptions(precision=4, suppress=True)
warnings.simplefilter("ignore", rbdgen.RbdgenWarning)
"""
