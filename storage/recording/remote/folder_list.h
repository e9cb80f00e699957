// What lies in a folder, for choosing a recording on another machine.
#pragma once

#include "storage/model/result.h"
#include "storage/model/units.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::storage::remote {

struct FolderEntry {
    std::string name;
    bool isFolder = false;
    Bytes size;                  ///< of a file
    std::int64_t changedNs = 0;  ///< UTC, since 1970
};

struct FolderList {
    std::string path;                  ///< absolute, as it was found
    std::vector<FolderEntry> entries;  ///< folders first, each by name; recordings and folders
    bool whole = true;                 ///< false: there are more than are listed
};

/// Hidden folders and files that are no `*.sscope` are left out. kUnreadable: no such folder, no
/// access.
Result<FolderList> listFolder(const std::string& path);

/// "~/..." as a path; "~" alone is the home.
[[nodiscard]] std::string withoutTilde(const std::string& path);

}  // namespace shardscope::storage::remote
