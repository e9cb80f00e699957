#include "profiler/capture/device_annotation.h"
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

/// What the device tracer was told, by depth.
std::vector<capture::LaunchContext> g_open, g_told;
const capture::DeviceAnnotator kAnnotator{[](capture::AnnotationStack, std::uint64_t id) {
                                              g_open.push_back(capture::unpack(id));
                                              g_told.push_back(g_open.back());
                                          },
                                          [](capture::AnnotationStack) { g_open.pop_back(); }};

class BackwardContextsTest : public testing::Test {
protected:
    BackwardContextsTest() {
        g_open.clear();
        g_told.clear();
        capture::deviceAnnotator().store(&kAnnotator);
    }
    ~BackwardContextsTest() override {
        capture::deviceAnnotator().store(nullptr);
        capture::threadContext() = {};
        capture::lendContext(nullptr);
    }
};

TEST_F(BackwardContextsTest, EachNodeBelongsToThePhaseThatWaitsForIt) {
    const BackwardContexts contexts;
    const at::Tensor x = at::ones({3}).requires_grad_(true);
    const at::Tensor y = at::gelu(x).sum();
    EXPECT_TRUE(g_told.empty()) << "forward is the step thread's own";
    const capture::Context lent{StepIndex{4}, LayerIndex{2}, Phase::kBackward, kEmptyString};
    capture::lendContext(&lent);
    std::thread([&] { y.backward(); }).join();  // a thread without a context
    ASSERT_FALSE(g_told.empty());
    for (const capture::LaunchContext& told : g_told)
        EXPECT_EQ(told, (capture::LaunchContext{StepIndex{4}, LayerIndex{2}, Phase::kBackward,
                                                kEmptyString}));
    EXPECT_TRUE(g_open.empty());
}

TEST_F(BackwardContextsTest, NothingIsToldWhileOff) {
    BackwardContexts contexts;
    contexts.setEnabled(false);
    const at::Tensor x = at::ones({3}).requires_grad_(true);
    at::gelu(x).sum().backward();
    EXPECT_TRUE(g_told.empty());
    contexts.setEnabled(true);
    at::gelu(x).sum().backward();
    EXPECT_FALSE(g_told.empty());
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
