#include "storage/interchange/string_cache.h"

namespace shardscope::interchange {
namespace {

/// What an entry costs besides its characters: node, bucket, string.
constexpr std::size_t kEntryBytes = 80;

}  // namespace

void StringCache::remember(std::string_view text, StringId id) {
    m_youngBytes += text.size() + kEntryBytes;
    if (m_youngBytes > m_generationBytes) {
        m_old = std::exchange(m_young, {});
        m_youngBytes = text.size() + kEntryBytes;
    }
    m_young.emplace(text, id);
}

StringId StringCache::intern(std::string_view text) {
    if (text.empty()) return kEmptyString;
    if (const auto at = m_young.find(text); at != m_young.end()) return at->second;
    if (const auto at = m_old.find(text); at != m_old.end()) {
        const StringId id = at->second;
        remember(text, id);
        return id;
    }
    const StringId id{m_next++};
    if (m_new.texts.empty()) m_new.first = id;
    m_new.texts.emplace_back(text);
    m_newBytes += text.size() + sizeof(std::string);
    remember(text, id);
    return id;
}

StringCache::Batch StringCache::take() {
    m_newBytes = 0;
    return std::exchange(m_new, {});
}

}  // namespace shardscope::interchange
