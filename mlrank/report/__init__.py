"""The report of an experiment: one HTML file with everything that its results folder tells."""

from mlrank.report.page import LIMIT_BYTES, Progress, ReportInput, render_report

__all__ = ["LIMIT_BYTES", "Progress", "ReportInput", "render_report"]
