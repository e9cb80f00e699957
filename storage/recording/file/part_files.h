// Names of files that are not whole yet, and the removal of those whose writer was killed.
//
// "run.sscope.part-HOST-PID" becomes "run.sscope" when it is whole. A writer that was killed leaves
// it behind; the next one to the same output removes it. The host is in the name because a folder
// may be shared by machines, which do not know each other's processes.
#pragma once

#include <string>

namespace shardscope::storage {

/// `path` with `kind` ("part", "new"), this host and this process.
[[nodiscard]] std::string partName(const std::string& path, const char* kind);

/// A sentence about a part for who knows only its output, which was not written.
[[nodiscard]] std::string withoutPart(std::string sentence, const std::string& part,
                                      const std::string& path);

/// Removes what processes of this host that are no more left unfinished of `path`. Whatever cannot
/// be removed stays.
void removeDeadParts(const std::string& path);

}  // namespace shardscope::storage
