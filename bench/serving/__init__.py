"""What the HTTP server costs beside its engine, next to the floor of its stack."""
