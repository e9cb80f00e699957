// Which glibc a host has, and which one a program asks for.
#pragma once

#include "storage/model/result.h"

#include <compare>
#include <string>
#include <string_view>

namespace shardscope::launch {

/// {0, 0}: none, or it cannot be told.
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
