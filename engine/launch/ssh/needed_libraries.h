// What programs of this host need on another: libraries, by ldd, and a version of glibc.
#pragma once

#include "storage/model/result.h"

#include <compare>
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

// Which glibc a host has, and which one a program asks for.

/// {0, 0}: none, or unknown.
struct GlibcVersion {
    int major = 0;
    int minor = 0;
    friend auto operator<=>(const GlibcVersion&, const GlibcVersion&) = default;
};

/// From what getconf GNU_LIBC_VERSION or ldd --version says first.
[[nodiscard]] GlibcVersion parseGlibc(std::string_view text);

/// The newest one that the program or library at `path` was linked against: an ELF file's version
/// references. {0, 0} where it names none or is no such file, e.g. a script.
Result<GlibcVersion> neededGlibc(const std::string& path);

}  // namespace shardscope::launch
