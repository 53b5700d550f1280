"""The settings of the documentation's site: `make docs` builds it with Sphinx.

Sphinx, because it checks links and references itself and reads docstrings without another tool; MyST, because the pages
stay Markdown that a repository shows; furo, because it is small, and has search, a dark mode and a narrow layout.
"""

from __future__ import annotations

from typing import Any

import gcom

project = "GCom"
author = "GCom contributors"
copyright = "GCom contributors"
release = version = gcom.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_copybutton"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "operations"]
nitpicky = False
default_role = "code"  # docstrings mark code by single backticks

html_theme = "furo"
html_title = "GCom"
html_theme_options = {"navigation_with_keys": True}
html_static_path = ["_static"]
html_css_files = ["site.css"]
copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = r"\$ |registry\$ |alice\$ |bob\$ "
copybutton_prompt_is_regexp = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
python_use_unqualified_type_names = True
add_module_names = False


def literal_blocks(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:  # noqa: ARG001
    """Mark indented blocks of docstrings as code, as their readers take them."""
    if what == "module" and name != "gcom.errors":
        del lines[1:]  # the example after it has lost its indent, and the module's page has a longer one
    found: list[str] = []
    inside = False
    for line in lines:
        indented = line.startswith("    ")
        if indented and not inside and (not found or not found[-1]):
            found += ["::", ""]
            inside = True
        inside = inside and (indented or not line)
        found.append(line)
    lines[:] = found


def setup(app: Any) -> None:
    """Have Sphinx call what this site needs."""
    app.connect("autodoc-process-docstring", literal_blocks)
