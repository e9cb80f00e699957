// Traces of several devices and processes in one file, rows that only names tell apart, and events
// that stand in another order, at another time or in another form than PyTorch writes them.
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "tests/storage/interchange/kineto_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace shardscope {
namespace {

using test::IsOk;

class ForeignRows : public ::testing::Test {
protected:
    void import(const std::string& events, const std::string& metadata = "") {
        account = imported.importText("{\"traceEvents\":[" + events + "]" + metadata + "}");
        ASSERT_THAT(account, IsOk());
        EXPECT_EQ(account->read, account->kept + account->rejected());
    }
    [[nodiscard]] std::vector<SpanEvent> spans(RankId rank, LaneRole role) {
        std::vector<SpanEvent> all;
        for (const LaneFacts& lane : imported.summary.lanes) {
            if (lane.rank != rank || lane.role != role) continue;
            const auto own = imported.reader->spans(rank, lane.lane, {{-1}, {1'000'000'000'000}});
            all.insert(all.end(), own->begin(), own->end());
        }
        return all;
    }
    [[nodiscard]] const RankFacts& rank(std::size_t place) const {
        return imported.summary.ranks.at(place);
    }

    test::Imported imported;
    Result<interchange::ImportAccount> account;
};

std::string kernel(int device, int start, int duration, int correlation,
                   const std::string& name = "k") {
    return R"({"ph":"X","cat":"kernel","name":")" + name + R"(","pid":)" + std::to_string(device) +
           R"(,"tid":7,"ts":)" + std::to_string(start) + R"(,"dur":)" + std::to_string(duration) +
           R"(,"args":{"correlation":)" + std::to_string(correlation) + "}},";
}
std::string launch(int process, int start, int correlation) {
    return R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":)" +
           std::to_string(process) + R"(,"tid":1,"ts":)" + std::to_string(start) +
           R"(,"dur":1,"args":{"correlation":)" + std::to_string(correlation) + "}},";
}
std::string step(int process, int number, int start, int duration) {
    return R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#)" + std::to_string(number) +
           R"(","pid":)" + std::to_string(process) + R"(,"tid":1,"ts":)" + std::to_string(start) +
           R"(,"dur":)" + std::to_string(duration) + "}";
}

TEST_F(ForeignRows, DevicesOfAProcessAreRanksWithItsStepsAndLaunches) {
    import(launch(9, 10, 1) + launch(9, 20, 2) + kernel(0, 30, 5, 1) + kernel(3, 120, 7, 2) +
           step(9, 4, 0, 100));
    ASSERT_EQ(imported.summary.ranks.size(), 2u);
    EXPECT_EQ(rank(0).device, "GPU 0");
    EXPECT_EQ(rank(1).device, "GPU 3");
    EXPECT_EQ(rank(0).pid, 9);
    EXPECT_EQ(rank(1).pid, 9) << "launches of its device are those of the process";
    EXPECT_EQ(imported.summary.steps.size(), 2u);
    ASSERT_EQ(spans({0}, LaneRole::kCompute).size(), 1u);
    ASSERT_EQ(spans({1}, LaneRole::kCompute).size(), 1u);
    EXPECT_EQ(spans({1}, LaneRole::kCompute)[0].step, StepIndex{4})
        << "it runs behind the step, and was launched in it";
    EXPECT_EQ(spans({1}, LaneRole::kRuntime).size(), 0u);
}

TEST_F(ForeignRows, ADeviceGoesToTheProcessThatLaunchedItsWork) {
    std::string events;
    for (int i = 1; i <= 4; ++i)
        events += launch(700, 100 * i, i) + kernel(1, 100 * i + 20, 5, i) +
                  launch(800, 100 * i + 50, i) + kernel(0, 100 * i + 60, 5, i);
    import(events + step(800, 0, 0, 1000));
    ASSERT_EQ(imported.summary.ranks.size(), 2u);
    EXPECT_EQ(rank(0).pid, 800);
    EXPECT_EQ(rank(0).device, "GPU 0");
    EXPECT_EQ(rank(1).pid, 700);
    EXPECT_EQ(spans({0}, LaneRole::kRuntime).size(), 4u);
    EXPECT_EQ(spans({1}, LaneRole::kRuntime).size(), 4u);
    ASSERT_EQ(imported.summary.steps.size(), 1u);
    EXPECT_EQ(imported.summary.steps[0].rank, RankId{0});
}

TEST_F(ForeignRows, OfAFileThatStatesItsRankTheBusiestDeviceIsThatRank) {
    const std::string world = R"(,"distributedInfo":{"rank":3,"world_size":4})";
    import(kernel(0, 5, 1, 1) + kernel(3, 10, 5, 2) + kernel(3, 20, 5, 3) + step(9, 0, 0, 100),
           world);
    ASSERT_EQ(imported.summary.ranks.size(), 2u);
    EXPECT_EQ(rank(0).rank, RankId{3});
    EXPECT_EQ(rank(0).device, "GPU 3");
    EXPECT_EQ(rank(1).rank, RankId{7}) << "behind those of the world";
    EXPECT_EQ(rank(1).device, "GPU 0");
    EXPECT_EQ(imported.summary.run.worldSize, 4);
}

TEST_F(ForeignRows, ADeviceThatIsSeenLateChangesTheRanksOfAll) {
    std::string events = launch(9, 1, 1) + kernel(0, 2, 1, 1);
    for (int i = 0; i < 60'000; ++i)
        events += R"({"ph":"X","cat":"cpu_op","name":"aten::some_operator_of_long_name","pid":9,)"
                  R"("tid":1,"ts":)" +
                  std::to_string(10 + i) + R"(,"dur":1},)";
    import(events + kernel(1, 70'000, 5, 2) + step(9, 0, 0, 80'000));
    EXPECT_EQ(imported.summary.ranks.size(), 2u);
    EXPECT_EQ(spans({1}, LaneRole::kCompute).size(), 1u);
    EXPECT_EQ(spans({0}, LaneRole::kHost).size(), 60'000u);
}

TEST_F(ForeignRows, MemoryOfEachDeviceIsItsRanksAndThatOfTheHostApart) {
    const auto memory = [](int type, int device, int time, int bytes, int total) {
        return R"({"ph":"i","s":"t","name":"[memory]","pid":9,"tid":1,"ts":)" +
               std::to_string(time) + R"(,"args":{"Addr":)" + std::to_string(time) +
               R"(,"Bytes":)" + std::to_string(bytes) + R"(,"Total Allocated":)" +
               std::to_string(total) + R"(,"Device Type":)" + std::to_string(type) +
               R"(,"Device Id":)" + std::to_string(device) + "}},";
    };
    for (const int type : {1, 6, 12}) {
        imported.options.overwrite = true;
        import(memory(type, 0, 1, 1000, 1000) + memory(0, -1, 2, 3000, 3000) +
               memory(type, 1, 3, 5000, 5000) + memory(type, 0, 4, -1000, 0) + step(9, 0, 0, 100));
        const auto first = imported.reader->memoryEvents({0}, {{-1}, {1'000'000}});
        const auto second = imported.reader->memoryEvents({1}, {{-1}, {1'000'000}});
        ASSERT_EQ(first->size(), 2u) << type;
        ASSERT_EQ(second->size(), 1u) << type;
        EXPECT_EQ((*second)[0].size, Bytes{5000});
        EXPECT_NE(imported.lane("allocated: cpu"), nullptr);
    }
}

TEST_F(ForeignRows, RowsOfXlaAreKnownByTheirNames) {
    import(R"x({"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:0"}},
              {"ph":"M","pid":1,"tid":20,"name":"thread_name","args":{"name":"Stream #20(Compute)"}},
              {"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"XLA Modules"}},
              {"ph":"X","pid":5,"tid":1,"ts":0,"dur":90,"name":"train","args":{"step_num":"7"}},
              {"ph":"X","pid":1,"tid":20,"ts":10,"dur":5,"name":"fusion","args":{"correlation_id":"3"}},
              {"ph":"X","pid":1,"tid":20,"ts":20,"dur":6,"name":"all-reduce.2","args":{}},
              {"ph":"X","pid":1,"tid":20,"ts":30,"dur":7,"name":"MemcpyH2D","args":{}},
              {"ph":"X","pid":1,"tid":2,"ts":10,"dur":50,"name":"jit_step","args":{}}, {})x");
    EXPECT_EQ(account->rejected(), 0u);
    ASSERT_EQ(spans({0}, LaneRole::kCompute).size(), 1u);
    EXPECT_EQ(spans({0}, LaneRole::kCompute)[0].correlation, 3u);
    EXPECT_EQ(spans({0}, LaneRole::kCommunication).size(), 1u);
    EXPECT_EQ(spans({0}, LaneRole::kCopy).size(), 1u);
    ASSERT_EQ(imported.summary.steps.size(), 1u);
    EXPECT_EQ(imported.summary.steps[0].step, StepIndex{7});
    EXPECT_EQ(rank(0).device, "/device:GPU:0");
}

TEST_F(ForeignRows, LostTimesDoNotMoveTheStartHoweverManyTheyAre) {
    const auto at = [](const std::string& time) {
        return R"({"ph":"X","cat":"cpu_op","name":"a","pid":9,"tid":1,"ts":)" + time +
               R"(,"dur":1})";
    };
    import(at("0") + "," + at("1771000000000000.5") + "," + at("0") + "," +
           at("1771000000000010.25"));
    EXPECT_EQ(account->kept, 2u);
    EXPECT_EQ(account->rejected(), 2u);
    const auto spans = imported.spans("thread 1: cpu_op");
    EXPECT_EQ(spans.at(0).start.ns, 0);
    EXPECT_EQ(spans.at(1).start.ns, 9'750);
}

TEST_F(ForeignRows, ManyEventsFarFromOthersAreNoStrays) {
    std::string events;
    for (int i = 0; i < 20; ++i)
        events += R"({"ph":"X","cat":"cpu_op","name":"a","pid":9,"tid":1,"dur":1,"ts":)" +
                  std::to_string(1 + i + (i >= 10 ? 200'000'000'000 : 0)) + "},";
    import(events + step(9, 0, 1, 5));
    EXPECT_EQ(account->rejected(), 0u);
    EXPECT_EQ(imported.spans("thread 1: cpu_op").size(), 20u);
}

TEST_F(ForeignRows, BeginsAndEndsArePairedByTimeWithTheArgumentsOfBoth) {
    import(R"({"name":"inner","ph":"B","ts":20,"pid":1,"tid":1,"args":{"a":1,"b":2}},
              {"name":"outer","ph":"B","ts":0,"pid":1,"tid":1},
              {"name":"inner","ph":"E","ts":50,"pid":1,"tid":1,"args":{"b":3,"c":4}},
              {"name":"outer","ph":"E","ts":100,"pid":1,"tid":1},
              {"name":"late","ph":"E","ts":80,"pid":1,"tid":1},
              {"name":"late","ph":"B","ts":60,"pid":1,"tid":1})");
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> found;
    for (const SpanEvent& span : imported.spans("thread 1")) {
        found[imported.text(span.name)] = {span.start.ns, span.duration.ns};
        if (imported.text(span.name) == "inner") {
            EXPECT_EQ(imported.text(span.arguments), R"({"a":1,"b":3,"c":4})");
        }
    }
    EXPECT_EQ(found["outer"], std::pair(std::int64_t{0}, std::int64_t{100'000}));
    EXPECT_EQ(found["inner"], std::pair(std::int64_t{20'000}, std::int64_t{30'000}));
    EXPECT_EQ(found["late"], std::pair(std::int64_t{60'000}, std::int64_t{20'000}));
}

TEST_F(ForeignRows, AsynchronousWorkIsPairedByItsId) {
    import(R"({"ph":"b","cat":"io","id":1,"name":"read","pid":1,"tid":1,"ts":0},
              {"ph":"b","cat":"io","id":1,"name":"write","pid":1,"tid":2,"ts":1},
              {"ph":"e","cat":"io","id":1,"name":"read","pid":1,"tid":3,"ts":4},
              {"ph":"e","cat":"io","id":1,"name":"write","pid":1,"tid":3,"ts":7},
              {"ph":"S","cat":"io","id":"x","name":"old","pid":1,"tid":1,"ts":2},
              {"ph":"F","cat":"io","id":"x","name":"old","pid":1,"tid":1,"ts":9},
              {"ph":"b","cat":"io","id2":{"local":"1"},"name":"l","pid":1,"tid":1,"ts":3},
              {"ph":"b","cat":"io","id2":{"local":"1"},"name":"l","pid":2,"tid":1,"ts":4},
              {"ph":"e","cat":"io","id2":{"local":"1"},"name":"l","pid":2,"tid":1,"ts":5},
              {"ph":"e","cat":"io","id":9,"name":"never begun","pid":1,"tid":1,"ts":5})");
    EXPECT_EQ(account->rejected(), 2u);
    std::map<std::string, std::int64_t> found;
    for (const SpanEvent& span : spans({0}, LaneRole::kRange))
        found[imported.text(span.name)] = span.duration.ns;
    EXPECT_EQ(found, (std::map<std::string, std::int64_t>{
                         {"read", 4000}, {"write", 6000}, {"old", 7000}, {"l", 1000}}));
}

TEST_F(ForeignRows, CountersOfOneNameAreToldApartByTheirIds) {
    import(R"({"ph":"C","name":"q","id":"a","pid":1,"ts":0,"args":{"v":1}},
              {"ph":"C","name":"q","id":"b","pid":1,"ts":0,"args":{"v":100}},
              {"ph":"C","name":"q","id":"a","pid":1,"ts":5,"args":{"v":2}})");
    EXPECT_NE(imported.lane("q [a]: v"), nullptr);
    EXPECT_NE(imported.lane("q [b]: v"), nullptr);
}

TEST_F(ForeignRows, ThreadsOfSeveralProcessesAreNamedWithThem) {
    import(R"({"ph":"M","name":"process_name","pid":1,"args":{"name":"worker"}},
              {"ph":"X","cat":"a","name":"n","pid":1,"tid":4,"ts":0,"dur":1},
              {"ph":"X","cat":"a","name":"n","pid":2,"tid":4,"ts":0,"dur":1})");
    EXPECT_NE(imported.lane("thread 4 (worker 1): a"), nullptr);
    EXPECT_NE(imported.lane("thread 4 (process 2): a"), nullptr);
}

TEST_F(ForeignRows, AMissingQuoteLosesOneEvent) {
    for (const char* broken :
         {R"({"ph":"X","cat":"c","name":"bad","pid":1,tid":1,"ts":10,"dur":5})",
          R"({"ph":"X","cat":"c","name":"bad","pid":1,"tid":1,"args":{"a":1,)"
          R"("ts":10,"dur":5})"}) {
        imported.options.overwrite = true;
        import(R"({"ph":"X","cat":"c","name":"a","pid":1,"tid":1,"ts":0,"dur":5},)" +
               std::string(broken) +
               R"(,{"ph":"X","cat":"c","name":"b","pid":1,"tid":1,"ts":20,"dur":5},
                  {"ph":"X","cat":"c","name":"d","pid":1,"tid":1,"ts":30,"dur":5})");
        EXPECT_EQ(account->kept, 3u) << broken;
        EXPECT_THAT(account->rejections, testing::ElementsAre(testing::Pair("malformed JSON", 1u)));
        EXPECT_TRUE(account->notes.empty()) << "the file is not cut off";
    }
}

TEST_F(ForeignRows, KernelsThatOutlastALaterOneOfTheirStreamAreNoticed) {
    import(kernel(0, 10, 700, 1) + kernel(0, 100, 50, 2) + kernel(0, 200, 50, 3) +
           kernel(0, 800, 10, 4) + kernel(0, 809, 10, 5) + step(9, 0, 0, 1000));
    const auto& all = imported.summary.diagnostics;
    const auto found = std::find_if(all.begin(), all.end(), [](const Diagnostic& each) {
        return each.code == "kernels-overrun";
    });
    ASSERT_NE(found, all.end());
    EXPECT_EQ(found->count, 1) << "the last two overlap as programmatic launches do";
    EXPECT_THAT(found->message, testing::HasSubstr("610"));
}

/// As tensorboard_trace_handler writes them with `repeat`.
TEST_F(ForeignRows, FilesOfOneProcessAreOneRank) {
    const auto file = [&](const std::string& name, int from, const std::string& rank) {
        const std::string path = imported.folder.file(name);
        test::writeFile(
            path,
            "{\"host_name\":\"h\"" + rank + ",\"traceEvents\":[" + launch(9, from + 1, from + 1) +
                kernel(0, from + 5, 3, from + 1) +
                kernel(0, from + 20, 3, from + 2, "ncclDevKernel_AllReduce_Sum_f32_RING_LL") +
                R"({"ph":"i","s":"t","name":"[memory]","pid":9,"tid":1,"ts":)" +
                std::to_string(from + 2) +
                R"(,"args":{"Bytes":10,"Total Allocated":110,"Device Type":1,"Device Id":0}},)" +
                step(9, 0, from, 50) + "]}");
        return path;
    };
    for (const std::string& rank :
         {std::string(), std::string(R"(,"distributedInfo":{"rank":2,"world_size":4})")}) {
        imported.options.overwrite = true;
        account = imported.import({file("a.json", 0, rank), file("b.json", 1000, rank)});
        ASSERT_THAT(account, IsOk());
        ASSERT_EQ(imported.summary.ranks.size(), 1u);
        const RankId id = imported.summary.ranks[0].rank;
        EXPECT_EQ(imported.summary.steps.size(), 2u);
        EXPECT_EQ(spans(id, LaneRole::kCompute).size(), 2u);
        const auto events = imported.reader->rankEvents(id, {{-1}, {10'000'000}});
        ASSERT_EQ(events->collectives.size(), 2u);
        EXPECT_NE(events->collectives[0].sequence, events->collectives[1].sequence);
        std::int64_t held = 0, most = 0;
        const auto blocks = imported.reader->memoryEvents(id, {{-1}, {10'000'000}});
        for (const MemoryEvent& block : *blocks) {
            held += block.action == MemoryAction::kFree ? -block.size.count : block.size.count;
            most = std::max(most, held);
        }
        EXPECT_EQ(most, 110) << "what is alive in both counts once";
    }
    account =
        imported.import({file("a.json", 0, R"(,"distributedInfo":{"rank":2,"world_size":4})"),
                         file("b.json", 10, R"(,"distributedInfo":{"rank":2,"world_size":4})")});
    EXPECT_THAT(account, test::FailsWith("both of rank 2"));
}

TEST_F(ForeignRows, NamesOfFilesOrderTheirRanks) {
    const auto file = [&](const std::string& name, int time) {
        const std::string path = imported.folder.file(name);
        test::writeFile(path,
                        R"([{"ph":"X","cat":"cpu_op","name":"a","pid":9,"tid":1,"dur":1,"ts":)" +
                            std::to_string(time) + "}]");
        return path;
    };
    account = imported.import({file("rank_10.json", 10), file("rank_2.json", 2)});
    ASSERT_THAT(account, IsOk());
    EXPECT_EQ(rank(0).rank, RankId{2});
    EXPECT_EQ(rank(1).rank, RankId{10});
}

}  // namespace
}  // namespace shardscope
