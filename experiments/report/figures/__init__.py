"""The figures of a report, one module per kind of drawing."""
