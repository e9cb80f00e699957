// Structs to JSON and back from one list of their fields, so that the two cannot drift apart: their
// shape (storage/model/shape.h). Internal to engine/run/protocol.
#pragma once

#include "engine/run/config/run_config.h"
#include "storage/model/recording_tables.h"
#include "storage/model/result.h"
#include "storage/model/shape.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace shardscope {
/// They have a JSON of their own.
template <>
inline constexpr bool shapes::kIsOpaque<run::RunConfig> = true;
template <>
inline constexpr bool shapes::kIsOpaque<std::map<std::string, std::string>> = true;
}  // namespace shardscope

namespace shardscope::run {

using TextMap = std::map<std::string, std::string>;

/// What stays as it is; anything else that is not as it should be is an error.
enum class Kept : std::uint8_t {
    kNothing,
    kMissing,
    kMalformed,  ///< and what is missing
};

/// What is left of texts that another process says: they come into recordings and onto terminals.
enum class Texts : std::uint8_t {
    kAsTheyAre,  ///< settings: a prompt may hold anything
    kLine,       ///< printableLine()
    kLines,      ///< printable()
};

/// {"event":"step", ...}: a word that says which struct it is, then its fields.
[[nodiscard]] std::string encodeFields(const char* tag, const char* word, const Shape& shape,
                                       const void* value);

/// Such a text, read.
class TaggedFields {
public:
    /// Without a word where the text is none.
    TaggedFields(std::string_view text, const char* tag);
    ~TaggedFields();
    TaggedFields(const TaggedFields&) = delete;
    TaggedFields& operator=(const TaggedFields&) = delete;

    [[nodiscard]] bool hasWord() const { return m_json != nullptr; }
    [[nodiscard]] const std::string& word() const { return m_word; }
    /// Errors are sentences' ends that name the field: "step.loss is not a number".
    Result<void> read(const Shape& shape, void* value, Kept kept, Texts texts) const;

private:
    struct Parsed;
    std::unique_ptr<Parsed> m_json;
    std::string m_word;
};

/// The structs of a variant, by their place in it.
template <class Variant>
struct Alternatives;
template <class... Struct>
struct Alternatives<std::variant<Struct...>> {
    using Variant = std::variant<Struct...>;
    using Words = std::array<const char*, sizeof...(Struct)>;
    static constexpr std::array<const Shape*, sizeof...(Struct)> kShapes{&kShape<Struct>...};

    static std::string encode(const char* tag, const Words& words, const Variant& value) {
        const void* at = std::visit([](const auto& of) -> const void* { return &of; }, value);
        return encodeFields(tag, words[value.index()], *kShapes[value.index()], at);
    }
    /// Puts the struct of that place there, as it is by default.
    static void* emplace(Variant& value, std::size_t place) {
        using Make = void* (*)(Variant&);
        constexpr std::array<Make, sizeof...(Struct)> kMakers{
            [](Variant& of) -> void* { return &of.template emplace<Struct>(); }...};
        return kMakers[place](value);
    }
    /// Where a word is among them; their number: nowhere.
    static std::size_t placeOf(std::string_view word, const Words& words) {
        std::size_t place = 0;
        while (place < words.size() && word != words[place]) ++place;
        return place;
    }
};

}  // namespace shardscope::run
