// What the launching functions of device_table.cuh need to know of the device.
#pragma once

namespace shardscope::kernels::device {

struct Grid {
    unsigned blocks = 0;
    unsigned threads = 0;  ///< a block
};

struct LaunchLimits {
    unsigned multiprocessors = 1;
    unsigned blockThreads = 1024;  ///< at most in a block; whole warps
};

}  // namespace shardscope::kernels::device
