#include "profiler/collectors/allocator/recording_allocator.h"
#include "profiler/collectors/operators/operator_collector.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace shardscope::collectors {
namespace {

class Kept final : public capture::EventSink {
public:
    void strings(StringId, const std::vector<std::string>& fresh) override {
        texts.insert(texts.end(), fresh.begin(), fresh.end());
    }
    void lane(const LaneFacts&) override {}
    void chunk(const columns::ChunkBytes& bytes) override {
        const auto header = columns::decodeHeader(bytes);
        ASSERT_TRUE(header);
        if (header->kind == EventKind::kSpan) spans = *columns::decodeSpans(bytes);
        if (header->kind == EventKind::kMemory) memory = *columns::decodeMemory(bytes);
    }
    [[nodiscard]] std::string text(StringId id) const {
        return id == kEmptyString ? "" : texts.at(id.value - 1);
    }
    std::vector<std::string> texts{};
    std::vector<SpanEvent> spans;
    std::vector<MemoryEvent> memory;
};

TEST(OperatorCollector, NestsOperatorsAndTellsShapes) {
    Kept kept;
    capture::CaptureSession session({}, kept);
    {
        const OperatorCollector collector(session);
        at::linear(at::ones({3, 4}), at::ones({5, 4}));
    }
    session.drain(0, true);
    const auto linear = std::find_if(kept.spans.begin(), kept.spans.end(), [&](const auto& span) {
        return kept.text(span.name) == "aten::linear";
    });
    ASSERT_NE(linear, kept.spans.end());
    EXPECT_EQ(linear->depth, 0);
    EXPECT_EQ(kept.text(linear->arguments), "{\"shapes\":[[3,4],[5,4]]}");
    const auto inner = std::find_if(kept.spans.begin(), kept.spans.end(), [&](const auto& span) {
        return kept.text(span.name) == "aten::mm";
    });
    ASSERT_NE(inner, kept.spans.end());
    EXPECT_GT(inner->depth, 0);
    EXPECT_GE(inner->start, linear->start);
    EXPECT_LE(inner->end(), linear->end());
}

TEST(OperatorCollector, LinksForwardAndBackward) {
    Kept kept;
    capture::CaptureSession session({}, kept);
    {
        const OperatorCollector collector(session);
        const at::Tensor x = at::ones({3}).requires_grad_(true);
        at::gelu(x).sum().backward();
    }
    session.drain(0, true);
    std::set<std::uint64_t> forward, backward;
    for (const SpanEvent& span : kept.spans) {
        if (kept.text(span.name) == "aten::gelu") forward.insert(span.correlation);
        if (kept.text(span.name) == "GeluBackward0") backward.insert(span.correlation);
    }
    ASSERT_EQ(backward.size(), 1U);
    EXPECT_NE(*backward.begin(), 0U);
    EXPECT_TRUE(forward.contains(*backward.begin()));
}

TEST(OperatorCollector, TakesNothingWhileDisabled) {
    Kept kept;
    capture::CaptureSession session({}, kept);
    OperatorCollector collector(session);
    collector.setEnabled(false);
    at::ones({3}).add(1);
    collector.setEnabled(true);
    at::ones({3}).mul(2);
    session.drain(0, true);
    EXPECT_THAT(kept.texts, testing::Not(testing::Contains("aten::add")));
    EXPECT_THAT(kept.texts, testing::Contains("aten::mul"));
}

TEST(PlainName, ShortensOurOwnBackwardNodes) {
    EXPECT_EQ(plainName("torch::autograd::CppNode<a::(anonymous namespace)::LayerNorm>"),
              "layer_norm_backward");
    EXPECT_EQ(plainName("MmBackward0"), "MmBackward0");
}

MemoryCategory g_category = MemoryCategory::kActivation;

TEST(RecordingAllocator, ReportsEveryBlockWithSizeAndCategoryFromAnyThread) {
    Kept kept;
    capture::CaptureSession session({}, kept);
    installRecordingAllocator([] { return BlockUse{g_category, nullptr}; });
    attachAllocator(&session);
    const std::int64_t before = allocatedBytes();
    std::thread([] { const at::Tensor t = at::empty({1000}); }).join();
    {
        g_category = MemoryCategory::kGatheredParameter;
        const at::Tensor t = at::empty({256});
        EXPECT_EQ(allocatedBytes(), before + 1024);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.data_ptr()) % 64, 0U);
        g_category = MemoryCategory::kActivation;
    }
    session.drain(0, true);
    attachAllocator(nullptr);
    EXPECT_EQ(allocatedBytes(), before);
    ASSERT_EQ(kept.memory.size(), 4U);
    EXPECT_EQ(kept.memory[0].size.count, 4000);
    EXPECT_EQ(kept.memory[0].category, MemoryCategory::kActivation);
    EXPECT_EQ(kept.memory[3].category, MemoryCategory::kGatheredParameter);
    EXPECT_EQ(kept.memory[3].action, MemoryAction::kFree);
    EXPECT_EQ(kept.memory[2].address, kept.memory[3].address);
}

TEST(RecordingAllocator, PausesWithoutUnbalancingFrees) {
    Kept kept;
    capture::CaptureSession session({}, kept);
    installRecordingAllocator([] { return BlockUse{g_category, nullptr}; });
    attachAllocator(&session);
    at::Tensor recorded = at::empty({10});
    session.setDetailed(false);
    at::Tensor unrecorded = at::empty({20});
    recorded = at::Tensor();
    session.setDetailed(true);
    unrecorded = at::Tensor();
    session.drain(0, true);
    attachAllocator(nullptr);
    ASSERT_EQ(kept.memory.size(), 2U);
    EXPECT_EQ(kept.memory[0].size.count, 40);
    EXPECT_EQ(kept.memory[1].size.count, 40);
    EXPECT_EQ(kept.memory[1].action, MemoryAction::kFree);
}

}  // namespace
}  // namespace shardscope::collectors
