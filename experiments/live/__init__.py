"""Real models, measured step by step, and what a simulation of the same steps says."""
