"""The step loop and what drives it."""
