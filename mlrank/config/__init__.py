"""Experiments as YAML: one file in, frozen and fully checked objects out."""

from mlrank.config.grid import GridPoint, MethodConfig
from mlrank.config.loading import load_config, parse_config
from mlrank.config.models import DatasetConfig, ExperimentConfig, SearchConfig, SplitConfig, SubsetConfig
from mlrank.yamlfile import FileErrors

__all__ = [
    "DatasetConfig",
    "ExperimentConfig",
    "FileErrors",
    "GridPoint",
    "MethodConfig",
    "SearchConfig",
    "SplitConfig",
    "SubsetConfig",
    "load_config",
    "parse_config",
]
