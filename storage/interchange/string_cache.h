// Texts to ids in bounded memory. Part of the trace builder.
//
// Remembers what was asked for lately, in two generations: a text that is asked for again and
// again stays, one that was seen once is forgotten. A forgotten text gets another id when it comes
// again, which only costs a row.
#pragma once

#include "storage/model/ids.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::interchange {

class StringCache {
public:
    static constexpr std::size_t kGenerationBytes = std::size_t{8} << 20;

    explicit StringCache(std::size_t generationBytes = kGenerationBytes)
        : m_generationBytes(generationBytes), m_young(generationBytes), m_old(0) {}

    StringId intern(std::string_view text);

    /// Texts with new ids since the last take(), and the id of the first.
    [[nodiscard]] std::size_t newBytes() const { return m_newBytes; }
    struct Batch {
        StringId first;
        std::vector<std::string> texts;
    };
    [[nodiscard]] Batch take();

private:
    /// Open addressing over one block of text: no allocation an entry.
    class TextTable {
    public:
        explicit TextTable(std::size_t bytes);
        /// Nothing when it is not here.
        [[nodiscard]] std::optional<StringId> find(std::string_view text, std::size_t hash) const;
        /// false: it is full.
        [[nodiscard]] bool add(std::string_view text, std::size_t hash, StringId id);

    private:
        struct Slot {
            std::size_t hash = 0;
            std::uint32_t at = 0;
            std::uint32_t size = 0;
            StringId id;  ///< 0: free
        };
        std::size_t m_bytes;
        std::size_t m_count = 0;
        std::vector<Slot> m_slots;  ///< a power of two
        std::string m_text;
    };

    void remember(std::string_view text, std::size_t hash, StringId id);

    std::size_t m_generationBytes;
    TextTable m_young;
    TextTable m_old;
    std::uint32_t m_next = 1;  ///< 0 is the empty string
    std::size_t m_newBytes = 0;
    Batch m_new;
};

}  // namespace shardscope::interchange
