// Asynchronous copies to shared memory under CUDA's own names.
#pragma once

#include "cuda_pipeline_primitives.h"
