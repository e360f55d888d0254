"""The operators of the framework: schema, reference and specification of each."""
