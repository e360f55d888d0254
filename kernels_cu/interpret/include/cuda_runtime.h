// What a kernel wants of CUDA's runtime header: vector types and device functions.
#pragma once

#include "device_functions.h"
#include "vector_functions.h"
