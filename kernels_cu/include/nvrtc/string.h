// memcpy and memset are built into NVRTC; C strings stay on the host.
#pragma once
