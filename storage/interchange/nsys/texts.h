// Texts of StringIds, read as events name them.
//
// The table holds whatever the profiler saw, the machine's environment too: no text is read, let
// alone kept, that no event refers to. One thread.
#pragma once

#include "storage/interchange/nsys/nsys_file.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace shardscope::interchange::nsys {

/// Sound UTF-8 of bounded length without control characters. `changed` counts those that were not.
[[nodiscard]] std::string soundText(std::string_view text, std::uint64_t& changed);

class Texts {
public:
    explicit Texts(NsysFile& file) : m_file(&file) {}

    struct Text {
        std::string plain;
        std::string json;  ///< with quotes
    };
    /// Null when there is no such id; valid until the next call.
    Result<const Text*> find(std::int64_t id);

    [[nodiscard]] std::uint64_t changed() const { return m_changed; }

private:
    static constexpr std::size_t kMostBytes = std::size_t{24} << 20;

    Result<std::string> lookUp(std::int64_t id, bool& found);
    Result<void> loadAll();
    const Text* keep(std::int64_t id, std::string plain);

    NsysFile* m_file;
    std::optional<storage::Statement> m_lookUp;
    std::unordered_map<std::int64_t, Text> m_known;
    std::size_t m_bytes = 0;
    std::uint64_t m_changed = 0;
    bool m_loaded = false;
};

}  // namespace shardscope::interchange::nsys
