"""Experiments as YAML: one file in, frozen and fully checked objects out."""

from mlrank.config.grid import GridPoint, MethodConfig
from mlrank.config.loading import config_of, load_config, load_stored_config, parse_config, stored_config_of
from mlrank.config.models import (
    DatasetConfig,
    ExperimentConfig,
    PropensityConfig,
    RecipeConfig,
    SearchConfig,
    SplitConfig,
    SubsetConfig,
)
from mlrank.config.names import named_solver
from mlrank.yamlfile import FileErrors

__all__ = [
    "DatasetConfig",
    "ExperimentConfig",
    "FileErrors",
    "GridPoint",
    "MethodConfig",
    "PropensityConfig",
    "RecipeConfig",
    "SearchConfig",
    "SplitConfig",
    "SubsetConfig",
    "config_of",
    "load_config",
    "load_stored_config",
    "named_solver",
    "parse_config",
    "stored_config_of",
]
