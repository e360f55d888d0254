// Names of the standard library under cuda::std, where kernels written for NVRTC look for them.
#pragma once

namespace cuda {
namespace std {
using namespace ::std;
}
}  // namespace cuda
