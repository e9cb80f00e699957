// Texts to ids in bounded memory. Part of the trace builder.
//
// Remembers what was asked for lately, in two generations: a text that is asked for again and
// again stays, one that was seen once is forgotten. A forgotten text gets another id when it comes
// again, which only costs a row.
#pragma once

#include "storage/model/ids.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shardscope::interchange {

class StringCache {
public:
    static constexpr std::size_t kGenerationBytes = std::size_t{8} << 20;

    explicit StringCache(std::size_t generationBytes = kGenerationBytes)
        : m_generationBytes(generationBytes) {}

    StringId intern(std::string_view text);

    /// Texts with new ids since the last take(), and the id of the first.
    [[nodiscard]] std::size_t newBytes() const { return m_newBytes; }
    struct Batch {
        StringId first;
        std::vector<std::string> texts;
    };
    [[nodiscard]] Batch take();

private:
    struct Hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>{}(text);
        }
    };
    using Generation = std::unordered_map<std::string, StringId, Hash, std::equal_to<>>;

    void remember(std::string_view text, StringId id);

    std::size_t m_generationBytes;
    std::size_t m_youngBytes = 0;
    Generation m_young;
    Generation m_old;
    std::uint32_t m_next = 1;  ///< 0 is the empty string
    std::size_t m_newBytes = 0;
    Batch m_new;
};

}  // namespace shardscope::interchange
