// What becomes of each phase and category of a Kineto trace.
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/storage/interchange/kineto_samples.h"

#include <gtest/gtest.h>

#include <random>

namespace shardscope {
namespace {

using test::IsOk;

/// A trace whose time 0 is at 100 us, with these events.
std::string traceOf(const std::string& events, const std::string& metadata = "") {
    return "{\"traceEvents\":[\n"
           R"({"ph":"X","cat":"cpu_op","name":"first","pid":9,"tid":1,"ts":100,"dur":1})" +
           (events.empty() ? "" : ",\n" + events) + "]" + metadata + "}";
}

class KinetoEvents : public ::testing::Test {
protected:
    void import(const std::string& events, const std::string& metadata = "") {
        account = imported.importText(traceOf(events, metadata));
        ASSERT_THAT(account, IsOk());
        EXPECT_EQ(account->read, account->kept + account->rejected());
    }
    [[nodiscard]] std::uint64_t rejected(const std::string& reason) const {
        const auto at = account->rejections.find(reason);
        return at == account->rejections.end() ? 0 : at->second;
    }
    test::Imported imported;
    Result<interchange::ImportAccount> account;
};

TEST_F(KinetoEvents, CategoriesGiveLanesTheirRoles) {
    const struct {
        const char* category;
        LaneRole role;
        const char* lane;
    } kExpected[] = {
        {"cpu_op", LaneRole::kHost, "thread 7 (process 0): cpu_op"},
        {"Operator", LaneRole::kHost, "thread 7 (process 0): cpu_op"},
        {"python_function", LaneRole::kHost, "thread 7 (process 0): python_function"},
        {"user_annotation", LaneRole::kRange, "thread 7 (process 0): user_annotation"},
        {"gpu_user_annotation", LaneRole::kRange, "GPU 0 stream 7: gpu_user_annotation"},
        {"kernel", LaneRole::kCompute, "GPU 0 stream 7"},
        {"Kernel", LaneRole::kCompute, "GPU 0 stream 7"},
        {"gpu_memcpy", LaneRole::kCopy, "GPU 0 stream 7: gpu_memcpy"},
        {"Memcpy", LaneRole::kCopy, "GPU 0 stream 7: gpu_memcpy"},
        {"gpu_memset", LaneRole::kCopy, "GPU 0 stream 7: gpu_memset"},
        {"cuda_runtime", LaneRole::kRuntime, "thread 7 (process 0): cuda_runtime"},
        {"Runtime", LaneRole::kRuntime, "thread 7 (process 0): cuda_runtime"},
        {"cuda_driver", LaneRole::kRuntime, "thread 7 (process 0): cuda_driver"},
        {"cuda_sync", LaneRole::kSync, "GPU 0 stream 7: cuda_sync"},
        {"overhead", LaneRole::kHost, "thread 7 (process 0): overhead"},
        {"of my own", LaneRole::kHost, "thread 7 (process 0): of my own"},
    };
    std::string events;
    for (const auto& expected : kExpected) {
        if (!events.empty()) events += ",";
        events += std::string(R"({"ph":"X","cat":")") + expected.category +
                  R"(","name":"n","pid":0,"tid":7,"ts":200,"dur":5.5,"args":{"correlation":3}})";
    }
    import(events);
    EXPECT_EQ(account->rejected(), 0u);
    for (const auto& expected : kExpected) {
        const LaneFacts* lane = imported.lane(expected.lane);
        ASSERT_NE(lane, nullptr) << expected.lane;
        EXPECT_EQ(lane->role, expected.role) << expected.lane;
        const bool device = expected.role == LaneRole::kCompute || expected.role == LaneRole::kCopy;
        EXPECT_EQ(isStreamLane(lane->lane), device) << expected.lane;
        EXPECT_EQ(imported.spans(expected.lane).at(0).duration.ns, 5'500);
    }
}

TEST_F(KinetoEvents, ArgumentsStandAsTheyAreButForTheCorrelation) {
    import(R"({"ph":"X","cat":"cuda_runtime","name":"a","pid":9,"tid":1,"ts":101.001,"dur":0.25,
               "args":{"External id": 5, "correlation": 77, "list": [1, "two"], "b":{}}},
              {"ph":"X","cat":"cuda_runtime","name":"b","pid":9,"tid":1,"ts":102,"dur":1,
               "args":{"x": null, "correlation": 78}},
              {"ph":"X","cat":"cuda_runtime","name":"c","pid":9,"tid":1,"ts":103,"dur":1,
               "args":{"correlation": 79}},
              {"ph":"X","cat":"cuda_runtime","name":"d","pid":9,"tid":1,"ts":104,"dur":1,
               "args":{"correlation": -1, "warps": inf}})");
    const auto spans = imported.spans("thread 1: cuda_runtime");
    ASSERT_EQ(spans.size(), 4u);
    EXPECT_EQ(spans[0].start.ns, 1'001);
    EXPECT_EQ(spans[0].duration.ns, 250);
    EXPECT_EQ(spans[0].correlation, 77u);
    EXPECT_EQ(imported.text(spans[0].arguments), R"({"External id":5,"list":[1,"two"],"b":{}})");
    EXPECT_EQ(imported.text(spans[1].arguments), R"({"x":null})");
    EXPECT_EQ(spans[1].correlation, 78u);
    EXPECT_EQ(imported.text(spans[2].arguments), "");
    EXPECT_EQ(spans[3].correlation, 0u);
    EXPECT_EQ(imported.text(spans[3].arguments), R"({"correlation":-1,"warps":"inf"})");
    EXPECT_EQ(account->repairs.at("NaN or an infinity, kept as text"), 1u);
}

TEST_F(KinetoEvents, KernelsOfOneStreamMayOverlapAndAlwaysCorrelate) {
    import(R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":200,"dur":10},
              {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":205,"dur":10},
              {"ph":"X","cat":"kernel","name":"ncclDevKernel_AllGather_RING_LL","pid":0,
               "tid":7,"ts":220,"dur":10,"args":{
    "correlation" : 4}})");
    const auto kernels = imported.spans("GPU 0 stream 7");
    ASSERT_EQ(kernels.size(), 2u);
    EXPECT_EQ(kernels[0].depth, 0);
    EXPECT_EQ(kernels[1].depth, 1);
    EXPECT_NE(kernels[0].correlation, 0u);
    EXPECT_NE(kernels[1].correlation, 0u);
    EXPECT_EQ(imported.lane("GPU 0 stream 7: collectives")->role, LaneRole::kCommunication);
    EXPECT_EQ(imported.summary.events.collectives, 1u);
}

TEST_F(KinetoEvents, FlowsBindWhereverTheyStand) {
    // Sorted by time and kind: before their events, behind others, far from any.
    const std::string flows =
        R"({"ph":"s","id":3,"pid":9,"tid":1,"ts":110,"cat":"fwdbwd","name":"fwdbwd"},
           {"ph":"s","id":8,"pid":9,"tid":2,"ts":121,"cat":"ac2g","name":"ac2g"},
           {"ph":"f","id":3,"pid":9,"tid":2,"ts":120,"cat":"fwdbwd","name":"fwdbwd","bp":"e"},
           {"ph":"f","id":8,"pid":0,"tid":7,"ts":150,"cat":"ac2g","name":"ac2g","bp":"e"},
           {"ph":"f","id":4,"pid":9,"tid":2,"ts":125.5,"cat":"fwdbwd","name":"fwdbwd","bp":"e"},
           {"ph":"f","id":99,"pid":0,"tid":8,"ts":150,"cat":"ac2g","name":"ac2g","bp":"e"})";
    const std::string events =
        R"({"ph":"X","cat":"cpu_op","name":"outer","pid":9,"tid":1,"ts":110,"dur":9},
           {"ph":"X","cat":"cpu_op","name":"inner","pid":9,"tid":1,"ts":110,"dur":5},
           {"ph":"X","cat":"cpu_op","name":"backward","pid":9,"tid":2,"ts":120,"dur":5},
           {"ph":"X","cat":"cuda_runtime","name":"launch","pid":9,"tid":2,"ts":121,"dur":1,
            "args":{"correlation":8}},
           {"ph":"X","cat":"gpu_user_annotation","name":"u","pid":0,"tid":7,"ts":149.999,"dur":1.2},
           {"ph":"X","cat":"kernel","name":"other","pid":0,"tid":7,"ts":150,"dur":1,
            "args":{"correlation":7}},
           {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":150,"dur":1,
            "args":{"correlation":8}})";
    for (const bool flowsFirst : {true, false}) {
        imported.options.overwrite = true;
        import(flowsFirst ? flows + "," + events : events + "," + flows);
        EXPECT_EQ(account->rejected(), 0u);
        const auto forward = imported.spans("thread 1: cpu_op");
        ASSERT_EQ(forward.size(), 3u);
        EXPECT_EQ(forward[1].correlation, 0u);
        EXPECT_EQ(forward[2].correlation, 3u);
        EXPECT_EQ(forward[2].phase, Phase::kForward);
        const auto backward = imported.spans("thread 2: cpu_op");
        ASSERT_EQ(backward.size(), 1u);
        EXPECT_EQ(backward[0].correlation, 3u);
        EXPECT_EQ(backward[0].phase, Phase::kBackward);
        const auto all = imported.flows();
        ASSERT_EQ(all.size(), 6u);
        EXPECT_EQ(imported.nameOf(all[0].lane), "thread 1: cpu_op");
        EXPECT_EQ(all[0].depth, 1);  // the inner one
        EXPECT_EQ(all[1].spanStart, backward[0].start);
        EXPECT_EQ(imported.nameOf(all[2].lane), "thread 2: cuda_runtime");
        EXPECT_FALSE(all[3].bound);  // backward has ended by then
        EXPECT_EQ(imported.nameOf(all[3].lane), "thread 2: flow");
        // Two kernels begin together: it is the one of that number.
        const auto kernels = imported.spans("GPU 0 stream 7");
        const FlowEvent& end = all[4].id == 8 ? all[4] : all[5];
        ASSERT_TRUE(end.bound);
        ASSERT_EQ(imported.nameOf(end.lane), "GPU 0 stream 7");
        for (const SpanEvent& kernel : kernels)
            if (kernel.depth == end.depth) {
                EXPECT_EQ(kernel.correlation, 8u) << int{kernel.depth};
            }
        // No span is made up for an arrow without an end.
        EXPECT_EQ(imported.summary.events.spans, 8u);
        EXPECT_EQ(imported.lane("thread 8: flow") != nullptr, true);
    }
}

TEST_F(KinetoEvents, FlowsFollowTheRulesOfTheFormat) {
    import(R"({"ph":"s","id":"0xa","pid":1,"tid":1,"ts":105,"cat":"c","name":"n","args":{"q":1}},
              {"ph":"t","id":"0xa","pid":1,"tid":1,"ts":115,"cat":"c","name":"n"},
              {"ph":"f","id":"0xa","pid":1,"tid":1,"ts":121,"cat":"c","name":"n"},
              {"ph":"f","id":5,"pid":1,"tid":1,"ts":160,"cat":"c","name":"n"},
              {"ph":"s","id":5,"pid":1,"tid":1,"ts":120,"cat":"c","name":"n"},
              {"ph":"s","pid":1,"tid":1,"ts":120,"cat":"c","name":"n"},
              {"ph":"X","cat":"a","name":"first","pid":1,"tid":1,"ts":100,"dur":20},
              {"ph":"X","cat":"b","name":"second","pid":1,"tid":1,"ts":110,"dur":10},
              {"ph":"X","cat":"a","name":"third","pid":1,"tid":1,"ts":900000,"dur":9},
              {"ph":"X","cat":"b","name":"within","pid":1,"tid":1,"ts":900000,"dur":5})");
    EXPECT_EQ(rejected("a flow without an id"), 1u);
    const auto flows = imported.flows();
    ASSERT_EQ(flows.size(), 5u);
    EXPECT_EQ(flows[0].point, FlowPoint::kStart);
    EXPECT_EQ(imported.text(flows[0].idText), "0xa");
    EXPECT_EQ(imported.text(flows[0].arguments), R"({"q":1})");
    EXPECT_EQ(flows[0].spanStart.ns, 0);
    EXPECT_EQ(flows[1].point, FlowPoint::kStep);
    EXPECT_EQ(imported.nameOf(flows[1].lane), "thread 1 (process 1): b");
    // Where two end together the inner one.
    EXPECT_EQ(flows[2].point, FlowPoint::kStart);
    EXPECT_EQ(imported.nameOf(flows[2].lane), "thread 1 (process 1): b");
    // Without bp:"e" an arrow ends at what begins next, of two the outer.
    for (const std::size_t i : {3u, 4u}) {
        EXPECT_EQ(flows[i].binding, FlowBinding::kNext);
        EXPECT_EQ(flows[i].spanStart.ns, 899'900'000);
        EXPECT_EQ(imported.nameOf(flows[i].lane), "thread 1 (process 1): a");
    }
}

/// Against a search through all spans.
TEST_F(KinetoEvents, FlowsBindAsASearchThroughAllSpansFinds) {
    std::mt19937 random(7);
    const auto below = [&](unsigned most) { return static_cast<int>(random() % most); };
    struct Slice {
        int start, end, thread;
    };
    std::vector<Slice> slices;
    std::string events;
    const auto slice = [&](int start, int end, int thread) {
        slices.push_back({start, end, thread});
        events += R"({"ph":"X","cat":"c)" + std::to_string(below(3)) +
                  R"(","name":"n","pid":1,"tid":)" + std::to_string(thread) + R"(,"ts":)" +
                  std::to_string(start) + R"(,"dur":)" + std::to_string(end - start) + "},";
    };
    // Nested by halves, with gaps; 2 s of time, so that it is looked at in several stretches.
    for (int thread = 0; thread < 3; ++thread)
        for (int i = 0; i < 150; ++i) {
            const int start = i * 13'337 + below(50), length = 4'000 + below(2'000);
            slice(start, start + length, thread);
            slice(start + 7, start + length / 2, thread);
            if (below(2) == 0) slice(start + 9, start + length / 4, thread);
        }
    struct Arrow {
        int time, thread;
        bool next;
    };
    std::vector<Arrow> arrows;
    for (int i = 0; i < 3'000; ++i) {
        arrows.push_back({below(2'050'000), below(3), below(2) == 0});
        events += R"({"ph":"f","id":)" + std::to_string(i) +
                  R"(,"cat":"x","name":"x","pid":1,"tid":)" + std::to_string(arrows.back().thread) +
                  R"(,"ts":)" + std::to_string(arrows.back().time) +
                  (arrows.back().next ? "},\n" : R"(,"bp":"e"},)");
    }
    import(events + R"({"ph":"i","name":"zero","pid":1,"tid":1,"ts":0})");
    const auto flows = imported.flows();
    ASSERT_EQ(flows.size(), arrows.size());
    for (const FlowEvent& flow : flows) {
        const Arrow& arrow = arrows[flow.id];
        const Slice* best = nullptr;
        for (const Slice& s : slices) {
            if (s.thread != arrow.thread) continue;
            if (arrow.next) {
                if (s.start < arrow.time) continue;
                if (best == nullptr || s.start < best->start) best = &s;
            } else if (s.start <= arrow.time && s.end > arrow.time) {
                if (best == nullptr || s.start > best->start) best = &s;
            }
        }
        if (best == nullptr && !arrow.next)
            for (const Slice& s : slices)
                if (s.thread == arrow.thread && s.end == arrow.time &&
                    (best == nullptr || s.start > best->start))
                    best = &s;
        ASSERT_EQ(flow.bound, best != nullptr) << flow.id;
        if (best != nullptr) {
            EXPECT_EQ(flow.spanStart.ns, std::int64_t{1000} * best->start) << flow.id;
        }
    }
}

TEST_F(KinetoEvents, InstantsCountersAndPairs) {
    import(R"({"ph":"i","s":"g","name":"Record Window End","pid":"","tid":"","ts":300},
              {"ph":"C","name":"power","pid":0,"ts":110,"args":{"W":1.5,"":2,"note":"x"}},
              {"ph":"C","name":"nothing","pid":0,"ts":110,"args":{"note":"x"}},
              {"ph":"B","name":"outer","pid":9,"tid":4,"ts":110,"args":{"a":1}},
              {"ph":"B","name":"inner","pid":9,"tid":4,"ts":111},
              {"ph":"E","pid":9,"tid":4,"ts":112}, {"ph":"E","pid":9,"tid":4,"ts":120},
              {"ph":"E","pid":9,"tid":4,"ts":121},
              {"ph":"B","name":"never ends","pid":9,"tid":4,"ts":130},
              {"ph":"N","id":1,"name":"object","pid":9,"tid":4,"ts":130})");
    const LaneFacts* lane = imported.lane("thread : instant");
    ASSERT_NE(lane, nullptr);
    const auto instants = imported.reader->instants({0}, lane->lane, {{0}, {1'000'000}});
    ASSERT_EQ(instants->size(), 1u);
    EXPECT_EQ(instants->front().scope, InstantScope::kGlobal);
    EXPECT_EQ(imported.text(instants->front().name), "Record Window End");
    EXPECT_EQ(imported.summary.events.instants, 1u);
    EXPECT_NE(imported.lane("power: W"), nullptr);
    EXPECT_EQ(imported.summary.events.counters, 2u);
    const auto pairs = imported.spans("thread 4");
    ASSERT_EQ(pairs.size(), 2u);
    EXPECT_EQ(pairs[0].duration.ns, 10'000);
    EXPECT_EQ(imported.text(pairs[0].arguments), R"({"a":1})");
    EXPECT_EQ(pairs[1].depth, 1);
    EXPECT_EQ(rejected("an end without a begin"), 1u);
    EXPECT_EQ(rejected("a begin without an end"), 1u);
    EXPECT_EQ(rejected("a counter without a number"), 1u);
    EXPECT_EQ(account->rejected(), 4u);
    EXPECT_EQ(imported.summary.diagnostics.at(0).code, "events-rejected");
}

TEST_F(KinetoEvents, MemoryEventsStartFromWhatIsAlive) {
    import(
        R"({"ph":"i","s":"t","cat":"cpu_instant_event","name":"[memory]","pid":9,"tid":1,"ts":110,
               "args":{"Addr":4096,"Bytes":512,"Total Allocated":1512,"Total Reserved":4096,
                       "Device Type":1,"Device Id":0,"Ev Idx":1}},
              {"ph":"i","s":"t","cat":"cpu_instant_event","name":"[memory]","pid":9,"tid":1,"ts":111,
               "args":{"Addr":4096,"Bytes":-512,"Total Allocated":1000,"Total Reserved":4096,
                       "Device Type":1,"Device Id":0,"Ev Idx":2}})");
    const auto events = imported.reader->memoryEvents({0}, {{-1}, {1'000'000}});
    ASSERT_THAT(events, IsOk());
    ASSERT_EQ(events->size(), 3u);
    EXPECT_EQ((*events)[0].size.count, 1000);
    EXPECT_EQ((*events)[1].address, 4096u);
    EXPECT_EQ((*events)[2].action, MemoryAction::kFree);
    EXPECT_EQ((*events)[2].size.count, 512);
    EXPECT_EQ(imported.text((*events)[2].owner), "cuda:0");
    EXPECT_EQ(imported.summary.events.counters, 4u);
}

TEST_F(KinetoEvents, MemoryEventsNeedNotBeInOrder) {
    const auto event = [](int time, int total) {
        return R"({"ph":"i","s":"t","name":"[memory]","pid":9,"tid":1,"ts":)" +
               std::to_string(time) + R"(,"args":{"Addr":)" + std::to_string(total) +
               R"(,"Bytes":100,"Total Allocated":)" + std::to_string(total) +
               R"(,"Device Type":1,"Device Id":0}})";
    };
    import(event(200, 1300) + "," + event(100, 1200));
    const auto events = imported.reader->memoryEvents({0}, {{-1}, {1'000'000}});
    ASSERT_THAT(events, IsOk());
    ASSERT_EQ(events->size(), 3u);
    EXPECT_EQ((*events)[0].size.count, 1100);
    EXPECT_EQ((*events)[1].address, 1200u);
    const auto rank = imported.reader->rankEvents({0}, {{-1}, {1'000'000}});
    EXPECT_EQ(rank->peakMemory.count, 1300);
    EXPECT_EQ(rank->peakTime.ns, 100'000);
}

TEST_F(KinetoEvents, CollectivesTakeTheirFactsFromTheHost) {
    const std::string comms =
        R"({"ph":"X","cat":"cpu_op","name":"record_param_comms","pid":9,"tid":1,"ts":110,"dur":5,
            "args":{"External id":50,"Collective name":"_reduce_scatter_base","dtype":"BFloat16",
            "In msg nelems":1000,"Out msg nelems":250,"Group size":4,"Seq":17,
            "Process Group Name":"0","Process Group Ranks":"[0, 1, 2, 3]"}},
           {"ph":"X","cat":"kernel","name":"ncclDevKernel_ReduceScatter_Sum_bf16_TREE_LL128",
            "pid":0,"tid":9,"ts":130,"dur":20,"args":{"External id":50,"correlation":6}},
           {"ph":"X","cat":"kernel","name":"ncclDevKernel_SendRecv","pid":0,"tid":9,"ts":160,
            "dur":2,"args":{"External id":51,"correlation":7}})";
    import(comms, R"(,"distributedInfo":{"rank":0,"world_size":4})");
    const auto events = imported.reader->rankEvents({0}, {{-1}, {1'000'000}});
    ASSERT_EQ(events->collectives.size(), 1u);
    const CollectiveEvent& collective = events->collectives[0];
    EXPECT_EQ(collective.operation, CollectiveOp::kReduceScatter);
    EXPECT_EQ(collective.dtype, DataType::kBFloat16);
    EXPECT_EQ(collective.size.count, 2000);
    EXPECT_EQ(collective.sequence, 17u);
    EXPECT_EQ(collective.issue.ns, 10'000);
    EXPECT_EQ(collective.start.ns, 30'000);
    EXPECT_EQ(collective.end.ns, 50'000);
    EXPECT_EQ(imported.text(collective.algorithm), "TREE");
    EXPECT_EQ(imported.text(collective.protocol), "LL128");
    EXPECT_EQ(events->communicationKernels.size(), 2u);
    EXPECT_EQ(account->sentences().size(), 1u);
}

TEST_F(KinetoEvents, WhatATraceDoesNotSayOfACollectiveIsUnknown) {
    const auto kernel = [](const char* name, int time, const char* arguments = "") {
        return std::string(R"({"ph":"X","cat":"kernel","pid":0,"tid":9,"dur":1,"name":")") + name +
               R"(","ts":)" + std::to_string(time) + R"(,"args":{)" + arguments + "}}";
    };
    import(kernel("ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", 130) + "," +
           kernel("ncclDevKernel_ReduceScatter_Sum_bf16_TREE_LL", 140) + "," +
           kernel("ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)", 150) + "," +
           kernel("ncclDevKernel_SendRecv", 160, R"("Collective name":"recv","dtype":"Half",
                  "In msg nelems":0,"Out msg nelems":8)") +
           "," + kernel("ncclDevKernel_SendRecv", 170) + "," +
           kernel("ncclDevKernel_Generic", 180));
    const auto events = imported.reader->rankEvents({0}, {{-1}, {1'000'000}});
    ASSERT_EQ(events->collectives.size(), 4u);
    std::vector<DataType> types;
    for (const CollectiveEvent& event : events->collectives) types.push_back(event.dtype);
    EXPECT_THAT(types, ::testing::ElementsAre(DataType::kFloat32, DataType::kBFloat16,
                                              DataType::kUnknown, DataType::kFloat16));
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(events->collectives[i].size, kUnknownSize) << i;
    EXPECT_EQ(events->collectives[3].operation, CollectiveOp::kReceive);
    EXPECT_EQ(events->collectives[3].size.count, 16);
    // The note names every operation that there is.
    ASSERT_EQ(account->sentences().size(), 1u);
    EXPECT_THAT(account->sentences()[0], ::testing::HasSubstr("2 communication kernels"));
    EXPECT_THAT(account->sentences()[0], ::testing::HasSubstr("all-to-all, send, receive"));
}

TEST_F(KinetoEvents, SequencesUsedTwiceAreCountedInstead) {
    std::string events;
    for (int i = 0; i < 3; ++i)
        events +=
            std::string(i == 0 ? "" : ",") +
            R"({"ph":"X","cat":"kernel","name":"ncclKernel_AllReduce","pid":0,"tid":9,"ts":)" +
            std::to_string(130 + i) +
            R"(,"dur":1,"args":{"Collective name":"allreduce","Seq":5,"correlation":6}})";
    import(events);
    const auto stored = imported.reader->rankEvents({0}, {{-1}, {1'000'000}});
    ASSERT_EQ(stored->collectives.size(), 3u);
    EXPECT_EQ(stored->collectives[2].sequence, 2u);
}

TEST_F(KinetoEvents, OddValuesAreRepairedOrRejectedByReason) {
    import(R"({"ph":"X","cat":"cpu_op","name":"a","pid":"9","tid":"25738","ts":"110","dur":1},
              {"ph":"X","cat":"cpu_op","name":"b","pid":9,"tid":1,"ts":111,"dur":-3},
              {"ph":"X","cat":"cpu_op","name":"c","pid":9,"tid":1,"ts":112.00049,"dur":1},
              {"ph":"X","cat":"cpu_op","name":"d","pid":9,"tid":1,"ts":NaN,"dur":1},
              {"ph":"X","cat":"cpu_op","name":"e","pid":9,"tid":1,"ts":113},
              {"ph":"X","cat":"cpu_op","name":"f","pid":9,"tid":1,"ts":1e40,"dur":1},
              {"ph":"X","cat":"cpu_op","name":"g)"
           "\x01\xff"
           R"(","pid":9,"tid":1,"ts":114,"dur":1},
              {"name":"no phase"}, {"ph":"X" "ts":1}, 5)");
    EXPECT_EQ(imported.spans("thread 25738: cpu_op").size(), 1u);
    const auto spans = imported.spans("thread 1: cpu_op");
    ASSERT_EQ(spans.size(), 4u);
    EXPECT_EQ(spans[1].duration.ns, 0);
    EXPECT_EQ(imported.text(spans[3].name), "g ?");
    EXPECT_EQ(account->repaired, 3u) << "a time as text is exact";
    EXPECT_EQ(rejected("no time, or one out of range"), 2u);
    EXPECT_EQ(rejected("no duration"), 1u);
    EXPECT_EQ(rejected("no phase (ph)"), 1u);
    EXPECT_EQ(rejected("malformed JSON"), 1u);
    EXPECT_EQ(rejected("no event: an element that is no object"), 1u);
}

TEST_F(KinetoEvents, RepeatedMetadataIsKeptOnce) {
    std::string events;
    const auto name = [](int thread, const char* text) {
        return R"({"ph":"M","name":"thread_name","pid":9,"tid":)" + std::to_string(thread) +
               R"(,"ts":0,"args":{"name":")" + text + "\"}}";
    };
    // Twice the megabyte that is kept, of 22 different ones; the last name of a thread holds.
    for (int i = 0; i < 25'000; ++i) events += name(i % 20, "worker") + ",";
    events += name(1, "first") + "," + name(1, "second") + "," + name(1, "first");
    import(events);
    EXPECT_EQ(account->rejected(), 0u);
    EXPECT_NE(imported.lane("first: cpu_op"), nullptr);
    const std::string& config = imported.summary.run.configJson;
    EXPECT_LT(config.size(), 10'000u);
    for (int i = 0; i < 20; ++i) EXPECT_THAT(config, ::testing::HasSubstr(name(i, "worker"))) << i;
    EXPECT_THAT(config, ::testing::HasSubstr(name(1, "second") + "," + name(1, "first")));
}

TEST_F(KinetoEvents, MetadataBeyondAMegabyteIsCountedAsLost) {
    std::string events;
    for (int i = 0; i < 3; ++i)
        events += std::string(i == 0 ? "" : ",") +
                  R"({"ph":"M","name":"process_labels","pid":9,"ts":0,"args":{"labels":")" +
                  std::string(500'000, static_cast<char>('a' + i)) + "\"}}";
    import(events);
    EXPECT_EQ(rejected("a metadata event behind the first megabyte of them"), 1u);
}

TEST_F(KinetoEvents, MetadataIsKept) {
    import(R"({"ph":"M","name":"process_name","pid":9,"tid":0,"ts":0,"args":{"name":"python"}},
              {"ph":"M","name":"thread_name","pid":9,"tid":1,"ts":0,"args":{"name":"main "}},
              {"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":9,"tid":1,"ts":120,
               "dur":50},
              {"ph":"X","cat":"kernel","name":"k","pid":1,"tid":7,"ts":121,"dur":1})",
           R"(,"deviceProperties":[{"id":0,"name":"A"},{"id":1,"name":"B","totalGlobalMem":64}],
              "distributedInfo":{"backend":"nccl","rank":2,"world_size":8},"host_name":"node7",
              "cuda_runtime_version":13000,"baseTimeNanoseconds":1711964646000000000)");
    const RecordingSummary& summary = imported.summary;
    EXPECT_EQ(summary.ranks.at(0).rank.value, 2u);  // said only at the end of the file
    EXPECT_EQ(summary.run.worldSize, 8);
    EXPECT_EQ(summary.run.startedUnixNs, 1'711'964'646'000'100'000);
    EXPECT_EQ(summary.hosts.at(0).name, "node7");
    EXPECT_EQ(summary.devices.at(0).name, "B");
    EXPECT_EQ(summary.devices.at(0).memory.count, 64);
    EXPECT_NE(imported.lane("main: cpu_op"), nullptr);
    EXPECT_EQ(summary.steps.at(0).step.value, 3);
    EXPECT_EQ(summary.steps.at(0).end.ns, 70'000);
    EXPECT_EQ(summary.run.librariesJson, R"({"cuda_runtime_version":"13000"})");
    EXPECT_THAT(summary.run.configJson, ::testing::HasSubstr("\"backend\":\"nccl\""));
}

}  // namespace
}  // namespace shardscope
