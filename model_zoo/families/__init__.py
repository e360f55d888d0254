"""Families of models, one a file: every module here has a `FAMILY`."""
