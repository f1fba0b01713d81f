"""``python -m mlrank``."""

from mlrank.cli import main

main()
