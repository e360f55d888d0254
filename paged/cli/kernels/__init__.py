"""`paged kernels`: list, show, write, try, time and compile kernels."""
