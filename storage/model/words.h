// The words of an enumeration, declared once. Beside it stands
//
//   constexpr auto wordsOf(Cause) { return wordList<Word<Cause>>({{Cause::kNone, "none"}, ...}); }
//
// with every enumerator in the order in which people see them listed; more facts about each may
// stand there too, in a struct of its own that begins with `value` and `word`. All else follows
// from that list. tests/storage/model holds every list against the compiler's own.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace shardscope {

template <class Enum>
struct Word {
    Enum value;
    const char* word;
};

template <class Entry, std::size_t N>
[[nodiscard]] constexpr std::array<Entry, N> wordList(const Entry (&list)[N]) {
    return std::to_array(list);
}

template <class Enum>
concept Worded = std::is_enum_v<Enum> && requires {
    wordsOf(Enum{});
};

template <Worded Enum>
inline constexpr auto kWords = wordsOf(Enum{});

namespace wording {

template <Worded Enum>
constexpr std::size_t placesOf() {
    std::size_t most = 0;
    for (const auto& entry : kWords<Enum>)
        most = std::max(most, static_cast<std::size_t>(entry.value));
    return most + 1;
}

}  // namespace wording

/// Of an array that is indexed by the enumerators' values.
template <Worded Enum>
inline constexpr std::size_t kPlaces = wording::placesOf<Enum>();

/// All enumerators, in the order of their list.
template <Worded Enum>
inline constexpr auto kAll = [] {
    std::array<Enum, kWords<Enum>.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = kWords<Enum>[i].value;
    return all;
}();

namespace wording {

/// Where the entry of a value is in its list, by value; the list's length: nowhere.
template <Worded Enum>
inline constexpr auto kIndexByValue = [] {
    std::array<std::uint8_t, kPlaces<Enum>> index{};
    index.fill(static_cast<std::uint8_t>(kWords<Enum>.size()));
    for (std::size_t i = 0; i < kWords<Enum>.size(); ++i)
        index[static_cast<std::size_t>(kWords<Enum>[i].value)] = static_cast<std::uint8_t>(i);
    return index;
}();

}  // namespace wording

/// The entry of a value; null where it is none of the enumerators, as damaged files have them.
template <Worded Enum>
[[nodiscard]] constexpr const auto* entryOf(Enum value) {
    const auto at = static_cast<std::size_t>(value);
    const std::size_t index =
        at < kPlaces<Enum> ? wording::kIndexByValue<Enum>[at] : kWords<Enum>.size();
    return index < kWords<Enum>.size() ? &kWords<Enum>[index] : nullptr;
}

/// Lower-case, as it is used in SQL, JSON and on screen: "all-gather".
template <Worded Enum>
[[nodiscard]] constexpr const char* toWord(Enum value) {
    const auto* entry = entryOf(value);
    return entry != nullptr ? entry->word : "unknown";
}

template <Worded Enum>
[[nodiscard]] constexpr std::optional<Enum> fromWord(std::string_view word) {
    for (const auto& entry : kWords<Enum>)
        if (word == entry.word) return entry.value;
    return std::nullopt;
}

/// Whether it is one of the enumerators, which what comes out of a file need not be.
template <Worded Enum>
[[nodiscard]] constexpr bool isOne(Enum value) {
    constexpr auto first = std::min_element(kAll<Enum>.begin(), kAll<Enum>.end());
    constexpr bool noGaps = kPlaces<Enum> - static_cast<std::size_t>(*first) == kAll<Enum>.size();
    if constexpr (noGaps)
        return value >= *first && static_cast<std::size_t>(value) < kPlaces<Enum>;
    else
        return entryOf(value) != nullptr;
}

/// Whether a number, as files hold it, stands for an enumerator.
template <Worded Enum>
[[nodiscard]] constexpr bool isValue(std::int64_t number) {
    return number >= 0 && number < static_cast<std::int64_t>(kPlaces<Enum>) &&
           isOne(static_cast<Enum>(number));
}

/// "cosine, linear or constant"
template <Worded Enum>
[[nodiscard]] std::string listOfWords(std::string_view lastSeparator = " or ") {
    std::string list;
    for (std::size_t i = 0; i < kWords<Enum>.size(); ++i) {
        if (i > 0) list += i + 1 == kWords<Enum>.size() ? lastSeparator : std::string_view(", ");
        list += kWords<Enum>[i].word;
    }
    return list;
}

template <Worded Enum>
[[nodiscard]] std::vector<std::string> wordVector() {
    std::vector<std::string> words;
    for (const auto& entry : kWords<Enum>) words.emplace_back(entry.word);
    return words;
}

}  // namespace shardscope
