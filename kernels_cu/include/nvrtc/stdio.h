// printf is built into NVRTC; there are no files on a device.
#pragma once
