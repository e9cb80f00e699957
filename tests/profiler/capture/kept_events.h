// What a capture session sends, for tests to look at.
#pragma once

#include "profiler/capture/capture_session.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace shardscope::test {

using capture::EventSink;

/// Keeps what a session sends, decoded.
class KeptEvents final : public EventSink {
public:
    void strings(StringId first, const std::vector<std::string>& fresh) override {
        EXPECT_EQ(first.value, texts.size() + 1);
        texts.insert(texts.end(), fresh.begin(), fresh.end());
    }
    void lane(const LaneFacts& lane) override { lanes.push_back(lane); }
    void chunk(const columns::ChunkBytes& bytes) override {
        const auto header = columns::decodeHeader(bytes);
        ASSERT_TRUE(header);
        EXPECT_LE(header->count, columns::kMaxChunkEvents);
        ++chunks;
        switch (header->kind) {
            case EventKind::kSpan:
                append(spans, columns::decodeSpans(bytes));
                break;
            case EventKind::kMemory:
                append(memory, columns::decodeMemory(bytes));
                break;
            case EventKind::kCounter:
                append(counters, columns::decodeCounters(bytes));
                break;
            case EventKind::kCollective:
                append(collectives, columns::decodeCollectives(bytes));
                break;
            case EventKind::kFlow:
            case EventKind::kInstant:
                ADD_FAILURE() << "ranks record none";
                break;
        }
    }
    template <class Event>
    static void append(std::vector<Event>& all, const Result<std::vector<Event>>& decoded) {
        ASSERT_TRUE(decoded);
        all.insert(all.end(), decoded->begin(), decoded->end());
    }
    std::vector<std::string> texts;
    std::vector<LaneFacts> lanes;
    std::vector<SpanEvent> spans;
    std::vector<MemoryEvent> memory;
    std::vector<CounterEvent> counters;
    std::vector<CollectiveEvent> collectives;
    int chunks = 0;
};

}  // namespace shardscope::test
