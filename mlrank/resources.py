"""Where the folders that ship with mlrank are: inside the wheel, or beside the package in a checkout."""

from pathlib import Path

__all__ = ["shipped"]


def shipped(folder: str) -> Path:
    """Return the path of a folder that ships with mlrank ("configs", "datasets" or "results").

    Raises
    ------
    ValueError
        If the installation lacks it.
    """
    package = Path(__file__).parent
    for candidate in (package / "share" / folder, package.parent / folder):
        if candidate.is_dir():
            return candidate
    raise ValueError(f"this installation of mlrank lacks its folder '{folder}'")
