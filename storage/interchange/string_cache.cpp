#include "storage/interchange/string_cache.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

namespace shardscope::interchange {
namespace {

/// Room for entries of this many bytes on average; shorter ones fill a generation early.
constexpr std::size_t kBytesAnEntry = 64;

}  // namespace

StringCache::TextTable::TextTable(std::size_t bytes)
    : m_bytes(bytes),
      m_slots(std::bit_ceil(std::max<std::size_t>(16, bytes / kBytesAnEntry * 2))) {}

std::optional<StringId> StringCache::TextTable::find(std::string_view text,
                                                     std::size_t hash) const {
    const std::size_t mask = m_slots.size() - 1;
    for (std::size_t i = hash & mask; m_slots[i].id.value != 0; i = (i + 1) & mask) {
        const Slot& slot = m_slots[i];
        if (slot.hash == hash && std::string_view(m_text).substr(slot.at, slot.size) == text)
            return slot.id;
    }
    return std::nullopt;
}

bool StringCache::TextTable::add(std::string_view text, std::size_t hash, StringId id) {
    if (m_text.size() + text.size() > m_bytes || m_count * 2 >= m_slots.size()) return false;
    const std::size_t mask = m_slots.size() - 1;
    std::size_t i = hash & mask;
    while (m_slots[i].id.value != 0) i = (i + 1) & mask;
    m_slots[i] = {hash, static_cast<std::uint32_t>(m_text.size()),
                  static_cast<std::uint32_t>(text.size()), id};
    m_text += text;
    ++m_count;
    return true;
}

void StringCache::remember(std::string_view text, std::size_t hash, StringId id) {
    // A text too long for any generation is not worth remembering.
    if (text.size() > m_generationBytes / 2 || m_young.add(text, hash, id)) return;
    m_old = std::exchange(m_young, TextTable(m_generationBytes));
    static_cast<void>(m_young.add(text, hash, id));
}

StringId StringCache::intern(std::string_view text) {
    if (text.empty()) return kEmptyString;
    const std::size_t hash = std::hash<std::string_view>{}(text);
    if (const auto id = m_young.find(text, hash)) return *id;
    if (const auto id = m_old.find(text, hash)) {
        remember(text, hash, *id);
        return *id;
    }
    const StringId id{m_next++};
    if (m_new.texts.empty()) m_new.first = id;
    m_new.texts.emplace_back(text);
    m_newBytes += text.size() + sizeof(std::string);
    remember(text, hash, id);
    return id;
}

StringCache::Batch StringCache::take() {
    m_newBytes = 0;
    return std::exchange(m_new, {});
}

}  // namespace shardscope::interchange
