// Steps and phases of drawn programs.
#include "profiler/inject/step_marks.h"

#include "profiler/inject/span_recorder.h"
#include "storage/model/lanes.h"
#include "tests/profiler/capture/kept_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace shardscope::inject {
namespace {

using test::KeptEvents;
using testing::ElementsAre;

/// A program that does what PyTorch's ranges and nodes say, at times that the test says.
class Program : public testing::Test {
protected:
    void begin(const char* name, std::int64_t at, std::uint32_t scope = SHARDSCOPE_RANGE,
               std::int64_t sequence = -1, const void* key = nullptr) {
        ShardscopeSpan span{};
        span.key = key;
        span.name = name;
        span.name_length = std::string_view(name).size();
        span.scope = scope;
        span.sequence = sequence;
        spans.begin(span, at);
    }
    void end(std::int64_t at, const void* key = nullptr) { spans.end(key, at); }
    void range(const char* name, std::int64_t from, std::int64_t to) {
        begin(name, from);
        end(to);
    }
    void node(std::int64_t sequence, std::int64_t from, std::int64_t to) {
        begin("AddmmBackward0", from, SHARDSCOPE_BACKWARD, sequence);
        end(to);
    }
    void op(std::int64_t sequence, std::int64_t from, std::int64_t to) {
        marks.operatorBegins(sequence, from);
        begin("aten::mm", from, SHARDSCOPE_FUNCTION, sequence);
        end(to);
    }
    void wait(std::int64_t from, std::int64_t to) {
        range("torch.distributed.Work.wait", from, to);
    }
    /// "forward 10-30"
    std::vector<std::string> phases() {
        session.drain(0, true);
        std::vector<std::string> texts;
        for (const SpanEvent& each : kept.spans)
            if (each.lane == lanes::kPhases.id)
                texts.push_back(std::string(toWord(each.phase)) + " " +
                                std::to_string(each.start.ns) + "-" +
                                std::to_string(each.end().ns));
        return texts;
    }
    /// Of operators: "forward 10"
    std::vector<std::string> phasesOfOperators() {
        session.drain(0, true);
        std::vector<std::string> texts;
        for (const SpanEvent& each : kept.spans)
            if (kept.texts.at(each.name.value - 1) == "aten::mm")
                texts.push_back(std::string(toWord(each.phase)) + " " +
                                std::to_string(each.start.ns));
        return texts;
    }
    /// "0: 10-50 optimizer"
    std::vector<std::string> steps() const {
        std::vector<std::string> texts;
        for (const capture::StepEnded& each : ended)
            texts.push_back(std::to_string(each.step.step.value) + ": " +
                            std::to_string(each.step.start.ns) + "-" +
                            std::to_string(each.step.end.ns) + " " + each.source);
        return texts;
    }

    KeptEvents kept;
    capture::CaptureSession session{{}, kept};
    std::vector<capture::StepEnded> ended;
    StepMarks marks{session, CaptureSchedule::of(CaptureWish{}).value(),
                    [this](capture::StepEnded each) { ended.push_back(std::move(each)); }};
    SpanRecorder spans{session, marks, "my step"};
};

TEST_F(Program, AStepHasDataForwardBackwardAndOptimizer) {
    range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 5, 8);
    marks.firstForward(10);
    node(7, 30, 34);
    node(3, 35, 40);
    begin("Optimizer.step#AdamW.step", 45);
    marks.stepEnds("optimizer", 50);
    end(51);
    range("Optimizer.zero_grad#AdamW.zero_grad", 52, 53);
    range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 54, 58);
    node(12, 70, 80);
    begin("Optimizer.step#AdamW.step", 85);
    marks.stepEnds("optimizer", 90);
    end(91);
    EXPECT_THAT(steps(), ElementsAre("0: 10-50 optimizer", "1: 50-90 optimizer"));
    EXPECT_THAT(phases(), ElementsAre("data 5-8", "forward 10-30", "backward 30-40",
                                      "optimizer 45-50", "other 52-53", "data 54-58",
                                      "forward 58-70", "backward 70-80", "optimizer 85-90"));
}

TEST_F(Program, EachBackwardOfAccumulatedGradientsIsOne) {
    marks.firstForward(0);
    node(5, 10, 12);
    node(-1, 13, 14);  // AccumulateGrad
    node(4, 15, 20);
    node(11, 30, 32);  // of the second micro-step
    node(9, 33, 40);
    marks.stepEnds("optimizer", 50);
    EXPECT_THAT(phases(),
                ElementsAre("forward 0-10", "backward 10-20", "forward 20-30", "backward 30-40"));
}

TEST_F(Program, OperatorsBehindABackwardPassAreOfTheNextForward) {
    marks.firstForward(0);
    op(4, 5, 6);
    node(5, 10, 12);
    op(-1, 13, 14);  // gradients of two uses added up
    node(4, 15, 20);
    op(6, 21, 22);
    node(11, 30, 32);
    op(12, 33, 34);  // autograd keeps nodes of a backward pass, too
    node(9, 35, 40);
    op(-1, 41, 42);
    EXPECT_THAT(phasesOfOperators(),
                ElementsAre("forward 5", "backward 13", "forward 21", "forward 33", "backward 41"));
}

TEST_F(Program, OperatorsBehindZeroGradAreOfForward) {
    marks.firstForward(0);
    marks.stepEnds("optimizer", 10);
    range("Optimizer.zero_grad#SGD.zero_grad", 11, 12);
    op(3, 13, 14);
    range("Optimizer.step#SGD.step", 15, 16);  // of an optimizer that ends no steps
    op(-1, 17, 18);
    EXPECT_THAT(phasesOfOperators(), ElementsAre("forward 13", "none 17"));
}

TEST_F(Program, AClosureOfAnOptimizerHasForwardAndBackward) {
    marks.firstForward(0);
    begin("Optimizer.step#SGD.step", 10);
    op(-1, 11, 12);
    op(3, 13, 14);
    op(4, 14, 15);
    node(4, 20, 22);
    op(-1, 23, 24);
    node(3, 25, 30);
    op(-1, 40, 42);  // what DDP waits for is over
    marks.stepEnds("optimizer", 50);
    end(51);
    EXPECT_THAT(phases(), ElementsAre("forward 10-20", "backward 20-30", "optimizer 40-50"));
    EXPECT_THAT(phasesOfOperators(), ElementsAre("optimizer 11", "forward 13", "forward 14",
                                                 "backward 23", "backward 40"));
}

TEST_F(Program, AClosureOfAnotherOptimizerIsNoLess) {
    marks.firstForward(0);
    begin("Optimizer.step#SGD.step", 10);
    node(4, 20, 22);
    end(30);
    EXPECT_THAT(phases(), ElementsAre("forward 10-20", "backward 20-22", "optimizer 22-30"));
}

TEST_F(Program, ARangeOfForwardBeginsThere) {
    marks.firstForward(0);
    begin("DistributedDataParallel.forward", 4);
    end(9);
    node(5, 10, 12);
    marks.stepEnds("optimizer", 20);
    EXPECT_THAT(phases(), ElementsAre("forward 4-10", "backward 10-12"));
}

TEST_F(Program, NodesWithinNodesAreOfTheOuterOne) {
    marks.firstForward(0);
    begin("CheckpointFunctionBackward", 10, SHARDSCOPE_BACKWARD, 3);
    node(50, 12, 14);  // the block that is computed again
    end(20);
    marks.stepEnds("optimizer", 30);
    EXPECT_THAT(phases(), ElementsAre("forward 0-10", "backward 10-20"));
}

/// What FSDP2 does: it waits in forward, in nodes and behind the last of them.
TEST_F(Program, WaitsArePhasesWithinOthers) {
    marks.firstForward(0);
    wait(20'000, 50'000);
    begin("AddmmBackward0", 100'000, SHARDSCOPE_BACKWARD, 5);
    wait(120'000, 150'000);
    end(160'000);
    node(3, 170'000, 200'000);
    wait(210'000, 240'000);
    range("Optimizer.step#AdamW.step", 260'000, 300'000);
    wait(310'000, 330'000);
    marks.stepEnds("optimizer", 350'000);
    wait(360'000, 390'000);
    node(9, 400'000, 440'000);
    marks.stepEnds("optimizer", 500'000);
    EXPECT_THAT(phases(), ElementsAre("forward 0-20000", "wait 20000-50000", "forward 50000-100000",
                                      "backward 100000-120000", "wait 120000-150000",
                                      "backward 150000-200000", "wait 210000-240000",
                                      "optimizer 260000-300000", "wait 310000-330000",
                                      "forward 350000-360000", "wait 360000-390000",
                                      "forward 390000-400000", "backward 400000-440000"));
}

TEST_F(Program, AWaitWithinAnotherIsOfTheOuterOne) {
    marks.firstForward(0);
    begin("torch.distributed.Work.wait", 20'000);
    begin("torch.futures.Future.wait", 30'000);
    end(40'000);
    end(60'000);
    begin("_c10d_functional::wait_tensor", 70'000, SHARDSCOPE_FUNCTION);
    end(80'000);
    node(5, 100'000, 120'000);
    marks.stepEnds("optimizer", 200'000);
    EXPECT_THAT(phases(),
                ElementsAre("forward 0-20000", "wait 20000-60000", "forward 60000-70000",
                            "wait 70000-80000", "forward 80000-100000", "backward 100000-120000"));
}

TEST_F(Program, AWaitOnWorkThatHasEndedIsNone) {
    marks.firstForward(0);
    wait(20'000, 20'000 + StepMarks::kShortestWaitNs - 1);
    wait(40'000, 40'000 + StepMarks::kShortestWaitNs);
    node(5, 100'000, 120'000);
    marks.stepEnds("optimizer", 200'000);
    EXPECT_THAT(phases(), ElementsAre("forward 0-40000", "wait 40000-45000", "forward 45000-100000",
                                      "backward 100000-120000"));
}

TEST_F(Program, WaitsOfOtherThreadsAreNotOfTheStep) {
    std::thread([this] { wait(0, 10'000); }).join();  // nor is it the thread of the steps then
    marks.firstForward(10'000);
    std::thread([this] { wait(20'000, 50'000); }).join();
    node(5, 100'000, 120'000);
    marks.stepEnds("optimizer", 200'000);
    EXPECT_THAT(phases(), ElementsAre("forward 10000-100000", "backward 100000-120000"));
}

TEST_F(Program, TheHighestSourceOfStepsCounts) {
    marks.firstForward(0);
    EXPECT_TRUE(marks.stepEnds("optimizer", 10));
    begin("ProfilerStep#1", 11);
    node(3, 12, 13);
    end(20);
    begin("ProfilerStep#2", 20);
    EXPECT_FALSE(marks.stepEnds("optimizer", 25));
    range("my step", 26, 28);
    EXPECT_TRUE(marks.stepEnds("shardscope.step", 30));
    EXPECT_FALSE(marks.stepEnds("optimizer", 35));
    end(40);
    EXPECT_FALSE(marks.stepEnds("no source", 50));
    EXPECT_THAT(steps(), ElementsAre("0: 0-10 optimizer", "1: 10-20 ProfilerStep",
                                     "2: 20-30 shardscope.step"));
}

TEST_F(Program, TwoSourcesOfTheSameStepCountItOnce) {
    for (const std::int64_t at : {0, 100, 200}) {
        node(5, at + 10, at + 20);
        EXPECT_EQ(marks.stepEnds("optimizer", at + 50), at == 0);
        EXPECT_EQ(marks.stepEnds("shardscope.step", at + 60), at > 0);
    }
    EXPECT_THAT(steps(), ElementsAre("0: 50-50 optimizer", "1: 50-160 shardscope.step",
                                     "2: 160-260 shardscope.step"));
}

/// torch.profiler opens a range behind the last step, and closes it when it stops.
TEST_F(Program, StepsOfTheProfilerCountWhileItRuns) {
    marks.firstForward(0);
    marks.stepEnds("optimizer", 10);
    for (const std::int64_t at : {20, 30}) {
        begin("ProfilerStep#0", at);
        marks.stepEnds("optimizer", at + 5);
        end(at + 8);
    }
    range("ProfilerStep#2", 38, 40);
    marks.stepEnds("optimizer", 50);
    marks.stepEnds("optimizer", 60);
    EXPECT_THAT(steps(),
                ElementsAre("0: 0-10 optimizer", "1: 10-25 optimizer", "2: 25-38 ProfilerStep",
                            "3: 38-50 optimizer", "4: 50-60 optimizer"));
}

/// What is profiled need not be training.
TEST_F(Program, StepsOfTheProfilerNeedNoTraining) {
    range("ProfilerStep#0", 10, 20);
    range("ProfilerStep#1", 20, 30);
    EXPECT_THAT(steps(), ElementsAre("0: 20-20 ProfilerStep", "1: 20-30 ProfilerStep"));
}

TEST_F(Program, ANamedRangeIsAStep) {
    range("my step", 10, 20);
    range("my step", 25, 30);
    EXPECT_THAT(steps(), ElementsAre("0: 20-20 range", "1: 20-30 range"));
}

TEST_F(Program, TheScheduleSaysWhatIsCaptured) {
    marks.change(CaptureSchedule::of({CaptureLevel::kFull, "", 2}).value());
    marks.firstForward(0);
    static std::vector<std::int32_t> levels;
    levels.clear();
    marks.onLevel([](std::int32_t level) { levels.push_back(level); });
    for (std::int64_t step = 0; step < 4; ++step) {
        begin("aten::add", step * 10 + 1, SHARDSCOPE_FUNCTION);
        end(step * 10 + 2);
        marks.stepEnds("optimizer", step * 10 + 10);
    }
    session.drain(0, true);
    int operators = 0;
    for (const SpanEvent& each : kept.spans)
        if (each.lane == lanes::kOperators.id) ++operators;
    EXPECT_EQ(operators, 2);
    EXPECT_THAT(levels, ElementsAre(SHARDSCOPE_FULL, SHARDSCOPE_STEPS, SHARDSCOPE_FULL,
                                    SHARDSCOPE_STEPS, SHARDSCOPE_FULL));
    EXPECT_EQ(ended[1].capture, CaptureLevel::kSteps);
}

TEST_F(Program, AnotherThreadHasNoPhases) {
    marks.firstForward(0);
    std::thread([this] {
        range("Optimizer.step#SGD.step", 5, 8);
        range("enumerate(DataLoader)#x", 9, 10);
    }).join();
    marks.stepEnds("optimizer", 20);
    EXPECT_THAT(phases(), ElementsAre());
}

TEST_F(Program, OperatorsKnowDepthStepAndPhase) {
    begin("aten::rand", 1, SHARDSCOPE_FUNCTION, 0);
    end(2);
    begin("aten::linear", 10, SHARDSCOPE_FUNCTION, 4);
    begin("aten::addmm", 11, SHARDSCOPE_FUNCTION, 5);
    end(12);
    end(13);
    node(4, 20, 22);
    session.drain(0, true);
    const auto named = [&](const char* name) {
        for (const SpanEvent& each : kept.spans)
            if (kept.texts.at(each.name.value - 1) == name) return each;
        ADD_FAILURE() << name;
        return SpanEvent{};
    };
    EXPECT_EQ(named("aten::rand").step, kNoStep);
    EXPECT_EQ(named("aten::linear").step, StepIndex{0});
    EXPECT_EQ(named("aten::linear").phase, Phase::kForward);
    EXPECT_EQ(named("aten::addmm").depth, 1);
    EXPECT_EQ(named("AddmmBackward0").phase, Phase::kBackward);
    EXPECT_EQ(named("AddmmBackward0").correlation, named("aten::linear").correlation);
}

TEST_F(Program, NamesAreComparedNotTrusted) {
    // The same address, another name: those of ranges are freed with their event.
    std::string name = "first";
    begin(name.c_str(), 1);
    end(2);
    name = "other";
    begin(name.c_str(), 3);
    end(4);
    session.drain(0, true);
    ASSERT_EQ(kept.spans.size(), 2u);
    EXPECT_NE(kept.spans[0].name, kept.spans[1].name);
}

TEST_F(Program, ShapesAreWrittenOnce) {
    const std::int64_t shapes[] = {2, 3, 4, 0, 1, 7};
    const std::int8_t types[] = {6, 4, 127};
    ShardscopeSpan span{};
    span.name = "aten::x";
    span.name_length = 7;
    span.shapes = shapes;
    span.shapes_length = 6;
    span.dtypes = types;
    span.tensors = 3;
    for (int i = 0; i < 2; ++i) {
        spans.begin(span, i * 2 + 1);
        spans.end(nullptr, i * 2 + 2);
    }
    session.drain(0, true);
    ASSERT_EQ(kept.spans.size(), 2u);
    EXPECT_EQ(kept.spans[0].arguments, kept.spans[1].arguments);
    EXPECT_EQ(kept.texts.at(kept.spans[0].arguments.value - 1),
              R"({"shapes":[[3,4],[],[7]],"dtypes":["Float","Long","unknown"]})");
}

TEST_F(Program, ConvolutionsSayTheirOtherArguments) {
    const std::int64_t shapes[] = {1, 3}, lists[] = {2, 1, 2, 1, 0, 0};
    const std::int8_t types[] = {6};
    ShardscopeSpan span{};
    span.name = "aten::convolution";
    span.name_length = 17;
    span.shapes = shapes;
    span.shapes_length = 2;
    span.dtypes = types;
    span.tensors = 1;
    span.lists = lists;
    for (const std::size_t length : {6u, 5u}) {
        span.lists_length = length;
        spans.begin(span, 1);
        spans.end(nullptr, 2);
    }
    session.drain(0, true);
    ASSERT_EQ(kept.spans.size(), 2u);
    EXPECT_EQ(kept.texts.at(kept.spans[0].arguments.value - 1),
              R"({"shapes":[[3]],"dtypes":["Float"],"lists":[[1,2],[0],[]]})");
    EXPECT_EQ(kept.texts.at(kept.spans[1].arguments.value - 1),
              R"({"shapes":[[3]],"dtypes":["Float"],"lists":[[1,2],[0]]})");
}

TEST_F(Program, EndsWithoutBeginDoNothing) {
    end(1);
    SpanRecorder::beginUnrecorded(nullptr);
    begin("aten::add", 2);
    end(3);
    SpanRecorder::endUnrecorded(nullptr);
    SpanRecorder::endUnrecorded(nullptr);
    session.drain(0, true);
    EXPECT_EQ(kept.spans.size(), 1u);
}

/// "aten::add 2-3 at depth 0"
std::vector<std::string> textsOf(const KeptEvents& kept) {
    std::vector<std::string> texts;
    for (const SpanEvent& each : kept.spans)
        texts.push_back(kept.texts.at(each.name.value - 1) + " " + std::to_string(each.start.ns) +
                        "-" + std::to_string(each.end().ns) + " at depth " +
                        std::to_string(each.depth));
    return texts;
}

TEST_F(Program, AnEndTakesWhatBeganWithinItAlong) {
    const char keys[4] = {};
    begin("outer", 1, SHARDSCOPE_FUNCTION, -1, &keys[0]);
    begin("range", 2);
    begin("inner", 3, SHARDSCOPE_FUNCTION, -1, &keys[1]);
    end(4, &keys[3]);  // began on another thread
    end(5);            // the range, and the inner one, whose end never comes
    end(6, &keys[1]);
    end(7, &keys[0]);
    end(8, &keys[0]);
    session.drain(0, true);
    EXPECT_THAT(textsOf(kept), ElementsAre("outer 1-7 at depth 0", "range 2-5 at depth 1",
                                           "inner 3-5 at depth 2"));
}

TEST_F(Program, SpansThatAreTooDeepAreLeftOutWithTheirEnds) {
    constexpr int kDepth = 300;
    for (int i = 0; i < kDepth; ++i) begin("aten::add", i);
    const char key = 0;
    begin("aten::mul", kDepth, SHARDSCOPE_FUNCTION, -1, &key);
    end(kDepth + 1, &key);
    for (int i = 0; i < kDepth; ++i) end(kDepth + 2 + i);
    session.drain(0, true);
    ASSERT_EQ(kept.spans.size(), SpanRecorder::kDeepest);
    for (const SpanEvent& each : kept.spans)  // the outermost ends last
        EXPECT_EQ(each.end().ns, kDepth + 1 + kDepth - each.start.ns);
    EXPECT_EQ(kept.spans.back().depth, SpanRecorder::kDeepest - 1);
}

TEST_F(Program, MemoryBelongsToTheOutermostOperator) {
    const auto allocate = [this](std::int64_t at) {
        MemoryEvent event;
        event.time = {at};
        spans.push(event);
    };
    allocate(1);
    begin("range", 2);
    allocate(3);
    begin("aten::linear", 4, SHARDSCOPE_FUNCTION);
    begin("aten::addmm", 5, SHARDSCOPE_FUNCTION);
    allocate(6);
    end(7);
    end(8);
    allocate(9);
    begin("aten::mul", 10, SHARDSCOPE_FUNCTION);
    allocate(11);
    session.drain(0, true);
    std::vector<std::string> owners;
    for (const MemoryEvent& each : kept.memory)
        owners.push_back(each.owner == kEmptyString ? "" : kept.texts.at(each.owner.value - 1));
    EXPECT_THAT(owners, ElementsAre("", "", "aten::linear", "", "aten::mul"));
}

TEST_F(Program, TheEndOfAThreadIsSurvived) {
    std::thread([this] {
        begin("aten::add", 1);
        end(2);
        begin("aten::mul", 3);
    }).join();
    std::thread([this] {  // may have the queue of the first
        begin("aten::sub", 4);
        end(5);
    })
        .join();
    session.drain(0, true);
    EXPECT_THAT(textsOf(kept), ElementsAre("aten::add 1-2 at depth 0", "aten::sub 4-5 at depth 0"));
}

}  // namespace
}  // namespace shardscope::inject
