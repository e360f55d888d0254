"""Batches of a run in a file: written as the run goes, read back as the batches they were."""
