// Forms of arguments as text: {"External id":#,"bandwidth":%,"grid":@} with values filled in.
//
// Outside JSON strings, # stands for an integer (one value), % for a decimal (two: its digits
// without the point, and how many of them follow the point), @ for any other JSON (one: a string
// id), ^ for an array whose elements are texts of their own, a stack's frames mostly (one: the id
// of a string that lists their ids). storage/schema/FORMAT.md. Pure.
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

/// Which of the values are string ids, in order; and which of those are of lists of ids.
struct TextValue {
    std::uint32_t value = 0;
    bool list = false;
};
[[nodiscard]] std::vector<TextValue> textValues(std::string_view form);

/// The ids in the text of a list, "12 9 12"; nothing where it is none.
[[nodiscard]] std::optional<std::vector<StringId>> idsIn(std::string_view list);

/// Text of a string id; nothing when there is none.
using TextOf = std::function<std::optional<std::string_view>(StringId)>;

/// Appends the JSON; false when the values are not those of the form.
bool appendArguments(std::string& json, std::string_view form, std::span<const std::int64_t> values,
                     const TextOf& textOf);

}  // namespace shardscope::storage
