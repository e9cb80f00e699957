#include "tests/support/sample_rank.h"

#include "storage/columns/chunk.h"

#include <algorithm>

namespace shardscope::test {

StringId SampleRank::string(const std::string& text) {
    const auto next = static_cast<std::uint32_t>(m_strings.size() + 1);
    const auto [at, added] = m_strings.emplace(text, next);
    if (added) m_newStrings.push_back(text);
    return {at->second};
}

void SampleRank::span(LaneId lane, const std::string& name, TimeRange range,
                      const SpanEvent& facts) {
    SpanEvent event = facts;
    event.lane = lane;
    event.name = string(name);
    event.start = range.begin;
    event.duration = range.duration();
    spans.push_back(event);
}

void SampleRank::allocate(const std::string& block, Bytes size, MemoryCategory category,
                          Timestamp time, LayerIndex layer, StepIndex step) {
    MemoryEvent event;
    event.time = time;
    event.size = size;
    event.category = category;
    event.layer = layer;
    event.step = step;
    event.owner = string(block.substr(0, block.find('#')));
    if (const auto reusable = m_freeAddresses.find(size.count); reusable != m_freeAddresses.end()) {
        event.address = reusable->second;
        m_freeAddresses.erase(reusable);
    } else {
        event.address = m_nextAddress;
        m_nextAddress += static_cast<std::uint64_t>((size.count + 4095) / 4096 * 4096);
    }
    m_blocks[block] = event;
    memory.push_back(event);
}

void SampleRank::release(const std::string& block, Timestamp time) {
    const auto at = m_blocks.find(block);
    if (at == m_blocks.end()) return;
    MemoryEvent event = at->second;
    event.action = MemoryAction::kFree;
    event.time = time;
    m_freeAddresses.emplace(event.size.count, event.address);
    m_blocks.erase(at);
    memory.push_back(event);
}

Result<void> SampleRank::send(storage::RecordingWriter& writer) {
    if (!m_newStrings.empty()) {
        const auto first = static_cast<std::uint32_t>(m_strings.size() - m_newStrings.size() + 1);
        if (auto done = writer.addStrings(id, {first}, m_newStrings); !done) return done;
        m_newStrings.clear();
    }
    m_sent += unsent();
    const auto byStart = [](const auto& a, const auto& b) { return a.start < b.start; };
    const auto byTime = [](const auto& a, const auto& b) { return a.time < b.time; };
    std::stable_sort(spans.begin(), spans.end(), byStart);
    std::stable_sort(collectives.begin(), collectives.end(), byStart);
    std::stable_sort(memory.begin(), memory.end(), byTime);
    std::stable_sort(counters.begin(), counters.end(), byTime);
    const auto sendAll = [&](auto& events, auto encode) -> Result<void> {
        if (events.empty()) return {};
        auto done = writer.addChunk(encode(id, events));
        events.clear();
        return done;
    };
    if (auto done = sendAll(spans, columns::encodeSpans); !done) return done;
    if (auto done = sendAll(collectives, columns::encodeCollectives); !done) return done;
    if (auto done = sendAll(memory, columns::encodeMemory); !done) return done;
    return sendAll(counters, columns::encodeCounters);
}

}  // namespace shardscope::test
