// Forms of arguments as text: {"External id":#,"bandwidth":%,"grid":@} with values filled in.
//
// Outside JSON strings, # stands for an integer (one value), % for a decimal (two: its digits
// without the point, and how many of them follow the point), @ for any other JSON (one: a string
// id). storage/schema/FORMAT.md. Pure.
#pragma once

#include "storage/model/ids.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::storage {

/// How many values a form has room for.
[[nodiscard]] std::uint32_t countValues(std::string_view form);

/// Which of the values are string ids, in order.
[[nodiscard]] std::vector<std::uint32_t> textValues(std::string_view form);

/// Text of a string id; nothing when there is none.
using TextOf = std::function<std::optional<std::string_view>(StringId)>;

/// Appends the JSON; false when the values are not those of the form.
bool appendArguments(std::string& json, std::string_view form, std::span<const std::int64_t> values,
                     const TextOf& textOf);

}  // namespace shardscope::storage
