// Texts of one rank numbered in order of first use. Any thread.
#pragma once

#include "storage/model/ids.h"

#include <cstdint>
#include <mutex>
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
    mutable std::mutex m_mutex;
    std::unordered_map<std::string, StringId> m_ids;  // guarded by m_mutex
    std::vector<const std::string*> m_texts;          // guarded by m_mutex; by id - 1
    std::vector<std::string> m_fresh;                 // guarded by m_mutex
    std::uint32_t m_next = 1;                         // guarded by m_mutex; 0 is the empty string
};

}  // namespace shardscope::capture
