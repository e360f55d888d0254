"""A model's files, read: configuration, weights, tokenizer. No pickle is ever opened.

`files.resolve` finds them, `config.load_config`, `params.load_params` and
`load_tokenizer.load_tokenizer` read them. None of this imports transformers.
"""
