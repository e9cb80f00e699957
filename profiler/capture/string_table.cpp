#include "profiler/capture/string_table.h"

#include <utility>

namespace shardscope::capture {

StringId StringTable::intern(std::string_view text) {
    if (text.empty()) return kEmptyString;
    const MutexLock lock(m_mutex);
    const auto [it, inserted] = m_ids.try_emplace(std::string(text), StringId{m_next});
    if (inserted) {
        ++m_next;
        m_fresh.emplace_back(text);
        m_texts.push_back(&it->first);  // a map's keys stay where they are
    }
    return it->second;
}

std::string StringTable::text(StringId id) const {
    const MutexLock lock(m_mutex);
    return id.value == 0 || id.value > m_texts.size() ? std::string() : *m_texts[id.value - 1];
}

StringTable::Fresh StringTable::takeFresh() {
    const MutexLock lock(m_mutex);
    Fresh fresh;
    fresh.first = StringId{m_next - static_cast<std::uint32_t>(m_fresh.size())};
    fresh.texts = std::exchange(m_fresh, {});
    return fresh;
}

}  // namespace shardscope::capture
