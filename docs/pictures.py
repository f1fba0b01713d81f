"""How Sphinx-Gallery keeps the figures of examples: as drawings that are dark where the page is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sphinx_gallery.scrapers import matplotlib_scraper

from mlrank.plots.files import with_dark


def keep_drawings(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Write the figures of a block beside those of its example, and return what shows them."""
    shown: str = matplotlib_scraper(block, block_vars, gallery_conf, format="svg")
    for path in Path(block_vars["image_path_iterator"].image_path).parent.glob("*.svg"):
        drawing = path.read_bytes()
        if b"prefers-color-scheme" not in drawing:
            path.write_bytes(with_dark(drawing))
    return shown


def _get_sg_image_scraper() -> Callable[..., str]:
    return keep_drawings
