// What a recording keeps of the environment.
#pragma once

#include <string>

namespace shardscope::cli {

/// Variables that can change a run's speed or result, as a JSON object of name to value. By whole
/// names: whatever else begins like one of them may be a secret.
[[nodiscard]] std::string environmentJson();

}  // namespace shardscope::cli
