// How one tells a recording that was salvaged from a damaged file.
#pragma once

namespace shardscope {

/// Code of the diagnostic that it has.
inline constexpr const char* kRepairedCode = "repaired";

}  // namespace shardscope
