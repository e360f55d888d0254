// malloc, free and abs are built into NVRTC; the rest of the header belongs to the host.
#pragma once
