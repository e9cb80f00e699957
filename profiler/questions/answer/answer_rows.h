// A table's rows as JSON objects by the keys of its columns. For who writes documents.
#pragma once

#include "profiler/questions/answer/answer.h"

#include <nlohmann/json_fwd.hpp>

namespace shardscope::questions {

[[nodiscard]] nlohmann::ordered_json rowsJson(const Table& table);

}  // namespace shardscope::questions
