// Recordings of our own, perhaps of an older format, into a new one. Internal to
// storage/interchange.
#pragma once

#include "storage/interchange/import.h"

#include <string>
#include <vector>

namespace shardscope::interchange {

/// The inputs stay as they are. Several are joined where their ranks differ, by the wall clock that
/// their times count from; `freshId` names the run unless all are of one.
Result<ImportAccount> importRecordings(const std::vector<std::string>& paths,
                                       const std::string& freshId, const ImportOptions& options);

}  // namespace shardscope::interchange
