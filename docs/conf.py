"""Configuration of the documentation site: ``make docs``."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "rbdgen"
author = "the authors of rbdgen"
copyright = "the authors of rbdgen, Apache-2.0"
version = release = installed_version("rbdgen")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "reference",
    "manifest_keys",
    "register_table",
    "gallery",
]
# classes come with the arguments that make them, in the order of the source
autodoc_class_signature = "mixed"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 100
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["build", "extensions"]

# straight dashes stay: options begin with two
smartquotes_action = "qe"

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
