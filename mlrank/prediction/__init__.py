"""Models at work: predictions for the rows of a file, and metrics on labelled data."""

from mlrank.prediction.files import Done, predict_file
from mlrank.prediction.judged import PARTS, JudgedModel, dataset_for_model, judge
from mlrank.prediction.outputs import ENDINGS, output_format

__all__ = [
    "ENDINGS",
    "PARTS",
    "Done",
    "JudgedModel",
    "dataset_for_model",
    "judge",
    "output_format",
    "predict_file",
]
