"""What kernels cost: time, bytes and flops, beside the hardware's limits and other kernels."""
