"""Figures, tables and a page, drawn from the CSV and JSON files of a results folder."""

from experiments.report.frame import ResultsError
from experiments.report.report import summary_table, write_report

__all__ = ["ResultsError", "summary_table", "write_report"]
