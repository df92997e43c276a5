"""Sphinx configuration of the documentation site."""

import dataclasses
import re

import ddibp

project = "ddibp"
author = "The ddibp developers"
copyright = "The ddibp developers"
release = version = ddibp.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
nitpicky = False
default_role = "py:obj"

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["myst.strikethrough"]

autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = "ddibp"
html_static_path = ["_static"]
html_css_files = ["ddibp.css"]
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"index": []}
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 7,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def show_factory_defaults(_app, _what, _name, obj, _options, signature, return_annotation):
    """Show ``decay=Exponential(beta=1.0)`` where the signature of a dataclass says ``<factory>``."""
    if dataclasses.is_dataclass(obj) and isinstance(obj, type):
        for field in dataclasses.fields(obj):
            if field.default_factory is not dataclasses.MISSING:
                signature = signature.replace(f"{field.name}=<factory>", f"{field.name}={field.default_factory()!r}")
    return signature, return_annotation


def skip_tuple_fields(_app, _what, _name, obj, skip, _options):
    """Leave out the fields of named tuples, which the class describes under Attributes."""
    return skip or type(obj).__name__ == "_tuplegetter"


def name_foreign_references(_app, _what, _name, _obj, _options, lines):
    """Keep the words of references in scikit-learn's docstrings, whose targets are on its own site."""
    text = re.sub(r":(?:ref|term):`([^`<]+?)(?:\s*<[^`]*>)?`", r"\1", "\n".join(lines))
    lines[:] = text.splitlines()


def setup(app):
    app.connect("autodoc-process-signature", show_factory_defaults)
    app.connect("autodoc-skip-member", skip_tuple_fields)
    app.connect("autodoc-process-docstring", name_foreign_references)
