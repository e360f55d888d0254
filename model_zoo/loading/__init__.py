"""A model's files, read: configuration, weights, tokenizer. No pickle is ever opened.

`files.resolve` finds them; `load_config`, `load_params` and `load_tokenizer`, each in a module of
its name, read them. None of this imports transformers.
"""
