"""The `paged` console script: one module per subcommand."""
