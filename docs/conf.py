"""How Sphinx builds the pages; ``make docs`` does it, with warnings as errors.

The pages are Markdown that a forge shows as well, so links between them and to other files of the repository are
relative paths. What lies outside this folder and is Markdown too, the measured tables and SECURITY.md, is copied in
before the build, and links to it are led to the copies.
"""

import re
import shutil
import sys
from pathlib import Path

from sphinx.application import Sphinx

import mlrank
from mlrank.plots.files import with_dark

HERE = Path(__file__).parent
ROOT = HERE.parent
COPIED = HERE / "copied"
# Where pictures.py is found.
sys.path.insert(0, str(HERE))

project = "mlrank"
author = "the mlrank authors"
version = release = mlrank.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["build", "examples"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
default_role = "code"

# Named, since a build after the first one knows new pages too late.
autosummary_generate = ["api.md"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"__init__\.py",
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1,
    "download_all_examples": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "image_scrapers": ("pictures",),
}

templates_path = ["_templates"]

html_theme = "pydata_sphinx_theme"
html_title = "mlrank"
html_static_path = ["_static"]
html_css_files = ["site.css"]
# These have no pages below them to list.
html_sidebars: dict[str, list[str]] = {"index": [], "reproductions": []}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 6,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def copy_pages() -> None:
    """Copy Markdown that lies outside this folder into it."""
    shutil.rmtree(COPIED, ignore_errors=True)
    COPIED.mkdir()
    for page in (*sorted((ROOT / "results" / "reference").glob("*.md")), ROOT / "SECURITY.md"):
        text = page.read_text("utf-8")
        title = "" if text.startswith("# ") else f"# {page.stem}\n\n"
        (COPIED / page.name).write_text(f"---\norphan: true\n---\n\n{title}{text}", "utf-8")
    for image in (ROOT / "results" / "reference").glob("*.svg"):
        (COPIED / image.name).write_bytes(with_dark(image.read_bytes()))


def lead_to_copies(app: Sphinx, name: str, source: list[str]) -> None:
    """Change links to pages outside this folder, and to stored notebooks, into links to pages of the site."""
    text = re.sub(r"\]\((?:\.\./)+(?:results/reference/)?([\w-]+\.md)(?=[)#])", _copied, source[0])
    source[0] = re.sub(r"\]\(notebooks/(\w+)\.ipynb\)", r"](/gallery/\1.rst)", text)


def _copied(link: re.Match[str]) -> str:
    return f"](/copied/{link[1]}" if (COPIED / link[1]).exists() else link[0]


def setup(app: Sphinx) -> None:
    """Copy pages in before any is read."""
    copy_pages()
    app.connect("source-read", lead_to_copies)
