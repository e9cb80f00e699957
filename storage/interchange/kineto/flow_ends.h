// Arrows from launches to device work: which of them say nothing that the event at their end does
// not say itself, in whatever order the two come.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::interchange::kineto {

class FlowEnds {
public:
    /// An event that has this correlation itself.
    void addEvent(std::string_view process, std::string_view thread, std::uint64_t correlation);
    /// Whether an event at this end of an arrow came already.
    [[nodiscard]] bool hasEvent(std::string_view process, std::string_view thread,
                                std::uint64_t correlation) const;
    /// An arrow without one so far, with the JSON text of its event.
    void wait(std::string_view process, std::string_view thread, std::uint64_t correlation,
              std::string_view text);
    /// Forgets those whose event has come.
    void sweep();
    [[nodiscard]] bool isFull() const { return m_waiting.size() >= m_sweepAt; }

    struct Waiting {
        std::uint64_t end = 0;
        std::string text;
    };
    /// Those that bind to nothing, at the end.
    [[nodiscard]] std::vector<Waiting> takeUnbound();

private:
    [[nodiscard]] bool contains(std::uint64_t end) const;
    void insert(std::uint64_t end);

    std::vector<std::uint64_t> m_ends;  ///< open addressing; 0: free
    std::size_t m_count = 0;
    std::vector<Waiting> m_waiting;
    std::size_t m_sweepAt = 65'536;
};

}  // namespace shardscope::interchange::kineto
