"""What clients get: pieces of output put into the form of each endpoint."""
