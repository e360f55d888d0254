"""Raw CUDA kernels as torch operators: specified once, run on a GPU or in an interpreter."""
