// Includes what cuda_runtime.h does: sources name either.
#pragma once

#include "cuda_runtime.h"
