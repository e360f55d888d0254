"""Simulated runs of the production engine, and what is measured on them."""
