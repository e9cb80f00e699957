// Which libraries programs of this host load, by ldd.
#pragma once

#include "storage/model/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace shardscope::launch {

struct SharedLibraries {
    std::vector<std::string> own;       ///< paths; neither glibc's nor of LibTorch's folder
    std::string libTorchRoot;           ///< folder that holds torch/ and nvidia/; empty: unused
    std::vector<std::string> libTorch;  ///< paths below it
};

/// Of programs; those that are not there are passed over. One that lacks a library is an error.
Result<SharedLibraries> sharedLibraries(const std::vector<std::string>& programs);

/// The same from the output of ldd.
[[nodiscard]] SharedLibraries parseLdd(std::string_view output);

/// Of the family that only works with the kernel and loader that it was made for: stays.
[[nodiscard]] bool isGlibc(std::string_view fileName);

}  // namespace shardscope::launch
