// The few types of CUDA's host interface that files with a host part name outside of it.
#pragma once

enum cudaError { cudaSuccess = 0, cudaErrorInvalidValue = 1 };
using cudaError_t = cudaError;
using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
