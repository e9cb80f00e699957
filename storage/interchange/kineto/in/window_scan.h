// Finds where elements of a JSON array end, 64 bytes at a time, without parsing them.
#pragma once

#include <cstddef>
#include <string_view>

namespace shardscope::interchange::kineto {

/// Resumable at any byte. Starts inside the array.
class WindowScan {
public:
    static constexpr int kMostDepth = 200;

    /// Goes on with `text`, whose first scanned() bytes it has seen already.
    void scan(std::string_view text);

    [[nodiscard]] std::size_t scanned() const { return m_scanned; }
    /// After the last object or array that ended as an element; 0 when none did.
    [[nodiscard]] std::size_t cut() const { return m_cut; }
    /// The array's own closing bracket was found; cut() is its place.
    [[nodiscard]] bool ended() const { return m_ended; }
    /// To the end of the first element only.
    void scanFirst(std::string_view text);
    [[nodiscard]] bool inString() const { return m_inString; }
    [[nodiscard]] bool tooDeep() const { return m_tooDeep; }
    /// The first `count` bytes are gone.
    void drop(std::size_t count) {
        m_scanned -= count;
        m_cut = 0;
    }

private:
    void scanByte(char c, std::size_t at);
    [[nodiscard]] bool scanBlock(const char* block, std::size_t at);
    void bracket(char c, std::size_t at);

    std::size_t m_scanned = 0;
    std::size_t m_cut = 0;
    int m_depth = 0;          ///< brackets open within the array
    bool m_isObject = false;  ///< the element that is open
    bool m_inString = false;
    bool m_escaped = false;
    bool m_ended = false;
    bool m_tooDeep = false;
};

}  // namespace shardscope::interchange::kineto
