// Files that a program makes itself: in folders that others may write to, a symbolic link may have
// been put where such a file is going to be.
#pragma once

#include <string>
#include <string_view>

namespace shardscope {

/// A descriptor of an empty file, for reading and writing; what had the name is removed, and never
/// written to: neither it nor what it leads to. -1, and errno says why.
[[nodiscard]] int openNewFile(const std::string& path, unsigned mode = 0666);

/// Such a file with these bytes. 0, or errno; nothing is left of it then.
[[nodiscard]] int writeNewFile(const std::string& path, std::string_view bytes);

/// A program's own file, a cache or a state: replaced in one step, so that who reads it beside
/// finds it whole; a symbolic link of that name is replaced, not followed. 0, or errno; what was
/// there stays then.
[[nodiscard]] int replaceOwnFile(const std::string& path, std::string_view bytes);

}  // namespace shardscope
