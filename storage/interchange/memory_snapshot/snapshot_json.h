// Values of a snapshot's pickle as JSON text, and back into a pickle.
#pragma once

#include "storage/interchange/memory_snapshot/pickle_reader.h"
#include "storage/interchange/memory_snapshot/pickle_writer.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace shardscope::interchange {

/// Keys of a dict become texts; NaN and infinities null. Nothing where a value is nested deeper
/// than any snapshot, or its text would be longer than `most` bytes: containers may hold
/// themselves.
[[nodiscard]] std::optional<std::string> jsonOf(const PickleDocument& document, PickleValue value,
                                                std::size_t most = std::size_t{1} << 20);

/// Lists of the keys that PyTorch writes as tuples (ids of private pools) become tuples.
void writeJson(PickleWriter& pickle, const nlohmann::json& value, std::string_view key = {});

}  // namespace shardscope::interchange
