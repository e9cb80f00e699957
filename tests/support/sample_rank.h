// Events of one simulated rank until they are sent. Part of the sample recording.
#pragma once

#include "storage/recording/write/recording_writer.h"
#include "tests/support/sample_recording.h"

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace shardscope::test {

struct SampleRank {
    RankId id;
    Timestamp now;  ///< of the step thread
    Timestamp communicationFree;
    std::vector<SpanEvent> spans;
    std::vector<CollectiveEvent> collectives;
    std::vector<MemoryEvent> memory;
    std::vector<CounterEvent> counters;

    /// Id of a string; new ones are declared with the next send().
    StringId string(const std::string& text);

    void span(LaneId lane, const std::string& name, TimeRange range, const SpanEvent& facts);
    void allocate(const std::string& block, Bytes size, MemoryCategory category, Timestamp time,
                  LayerIndex layer, StepIndex step);
    void release(const std::string& block, Timestamp time);

    /// Hands everything to the writer as chunks.
    Result<void> send(storage::RecordingWriter& writer);

    /// Events so far, sent or not.
    [[nodiscard]] std::uint64_t emitted() const { return m_sent + unsent(); }

private:
    [[nodiscard]] std::size_t unsent() const {
        return spans.size() + collectives.size() + memory.size() + counters.size();
    }

    std::uint64_t m_sent = 0;
    std::unordered_map<std::string, std::uint32_t> m_strings;
    std::vector<std::string> m_newStrings;
    std::map<std::string, MemoryEvent> m_blocks;
    std::multimap<std::int64_t, std::uint64_t> m_freeAddresses;  ///< by size
    std::uint64_t m_nextAddress = 0x7f0000000000;
};

}  // namespace shardscope::test
