// The text files that a run or a tokenizer is given: a file, or all below a folder.
#pragma once

#include "storage/model/result.h"

#include <string>
#include <vector>

namespace shardscope::tokens {

/// The file, or all text files below the folder in name order, so that every rank sees the same
/// text. Passed over in folders: hidden files, those named build, empty and binary ones (NUL in
/// the first 64 KiB). Errors (kUnreadable): missing, empty, binary, no text file in the folder.
Result<std::vector<std::string>> findTextFiles(const std::string& path);

/// Why no text file was found below the folder (kUnreadable): there is none, or what is there may
/// not be read by this user, who is named.
[[nodiscard]] Error noTextIn(const std::string& folder);

}  // namespace shardscope::tokens
