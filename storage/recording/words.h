// From the words that stand in SQL back to enumerators.
#pragma once

#include "storage/model/events.h"

#include <optional>
#include <string>
#include <string_view>

namespace shardscope::storage {

/// The enumerator in [first, last] whose toWord() is `word`.
template <class Enum>
[[nodiscard]] std::optional<Enum> fromWord(std::string_view word, Enum first, Enum last) {
    for (int value = static_cast<int>(first); value <= static_cast<int>(last); ++value)
        if (word == toWord(static_cast<Enum>(value))) return static_cast<Enum>(value);
    return std::nullopt;
}

/// "'none','demand'": the words of [first, last] as SQL texts.
template <class Enum>
[[nodiscard]] std::string wordsSql(Enum first, Enum last) {
    std::string list;
    for (int value = static_cast<int>(first); value <= static_cast<int>(last); ++value)
        list.append(list.empty() ? "'" : ",'").append(toWord(static_cast<Enum>(value))) += '\'';
    return list;
}

}  // namespace shardscope::storage
