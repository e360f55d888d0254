"""Who owns which KV slots. numpy only."""
