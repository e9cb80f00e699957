// Texts of one rank numbered in order of first use. Any thread.
#pragma once

#include "storage/model/ids.h"
#include "storage/model/mutex.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardscope::capture {

class StringTable {
public:
    /// Callers on a hot path keep a cache of their own.
    StringId intern(std::string_view text);

    /// Empty when the id was never given. Not for hot paths.
    [[nodiscard]] std::string text(StringId id) const;

    struct Fresh {
        StringId first;
        std::vector<std::string> texts;
    };
    /// Texts interned since the last call, in order of their ids.
    Fresh takeFresh();

private:
    mutable Mutex m_mutex;
    std::unordered_map<std::string, StringId> m_ids SHARDSCOPE_GUARDED_BY(m_mutex);
    std::vector<const std::string*> m_texts SHARDSCOPE_GUARDED_BY(m_mutex);  ///< by id - 1
    std::vector<std::string> m_fresh SHARDSCOPE_GUARDED_BY(m_mutex);
    std::uint32_t m_next SHARDSCOPE_GUARDED_BY(m_mutex) = 1;  ///< 0 is the empty string
};

}  // namespace shardscope::capture
