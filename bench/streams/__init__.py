"""Our server beside llama.cpp's at 1 to 32 streams: `python -m bench.streams`."""
