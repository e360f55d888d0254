"""End to end: our engine beside others on the same model, requests and threads."""
