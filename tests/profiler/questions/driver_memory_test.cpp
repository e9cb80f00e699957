
#include "profiler/questions/read_surroundings.h"
#include "storage/columns/chunk.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/write/recording_writer.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace shardscope::questions {
namespace {

constexpr std::int64_t kStep = 1'000'000;

TEST(DriverMemory, IsTakenByCallsThatMayWaitForTheDevice) {
    for (const char* name : {"cudaMalloc", "cudaFree", "cudaMalloc_v3020", "cudaFree_v3020",
                             "cuMemAlloc_v2", "cuMemCreate", "hipMalloc", "hipFree"})
        EXPECT_TRUE(isDriverMemoryCall(name)) << name;
    for (const char* name :
         {"cudaMallocHost", "cudaFreeHost", "cudaMallocAsync", "cudaFreeAsync_v11020",
          "cudaLaunchKernel", "cudaMalloc_version", "cuMemcpyHtoD_v2", "hipMemcpy", "", "_v"})
        EXPECT_FALSE(isDriverMemoryCall(name)) << name;
}

/// Two ranks of three steps; rank 1's calls were not traced.
class DriverMemoryTime : public testing::Test {
protected:
    void SetUp() override {
        RunFacts run;
        run.id = "calls";
        run.worldSize = 2;
        auto writer = storage::RecordingWriter::create(m_path, run, true);
        ASSERT_THAT(writer, test::IsOk());
        ASSERT_THAT(writer->addHost({}), test::IsOk());
        for (const RankId rank : {RankId{0}, RankId{1}}) {
            RankFacts facts;
            facts.rank = rank;
            ASSERT_THAT(writer->putRank(facts), test::IsOk());
            for (std::int32_t index = 0; index < 3; ++index) {
                StepFacts step;
                step.rank = rank;
                step.step = {index};
                step.start = {index * kStep};
                step.end = {(index + 1) * kStep};
                ASSERT_THAT(writer->addStep(step), test::IsOk());
            }
        }
        ASSERT_THAT(writer->addStrings({0}, {1}, {"cudaMalloc", "cudaFree_v3020", "cudaLaunch"}),
                    test::IsOk());
        for (const std::size_t thread : {0u, 1u})
            ASSERT_THAT(writer->addLane(
                            {{0}, lanes::kCalls.at(thread), LaneRole::kRuntime, "calls", "", 0}),
                        test::IsOk());
        add(0, 1, 100, 200'000);              // step 0
        add(0, 2, kStep + 100, 300'000);      // step 1
        add(0, 3, kStep + 400'000, 1'000);    // takes no memory
        add(1, 1, kStep + 200'100, 300'000);  // at the same time in part: 200 us more
        add(1, 2, 2 * kStep - 1'000, 5'000);  // 1 us of step 1, the rest of step 2
        std::stable_sort(m_spans.begin(), m_spans.end(),
                         [](const auto& a, const auto& b) { return a.start < b.start; });
        ASSERT_THAT(writer->addChunk(columns::encodeSpans({0}, m_spans)), test::IsOk());
        ASSERT_THAT(writer->finalise(RunStatus::kFinished, {3 * kStep}), test::IsOk());
    }

    void add(std::size_t thread, std::uint32_t name, std::int64_t at, std::int64_t length) {
        SpanEvent span;
        span.start = {at};
        span.duration = {length};
        span.lane = lanes::kCalls.at(thread);
        span.name = {name};
        m_spans.push_back(span);
    }

    test::TemporaryFolder m_folder;
    std::string m_path = m_folder.file("calls.sscope");
    std::vector<SpanEvent> m_spans;
};

TEST_F(DriverMemoryTime, IsWhatCallsTakeTogetherWithinTheSteps) {
    const auto reader = storage::openRecording(m_path);
    ASSERT_THAT(reader, test::IsOk());
    const auto summary = (*reader)->summary();
    ASSERT_THAT(summary, test::IsOk());
    const auto around = surroundings(**reader, *summary, {});
    ASSERT_THAT(around, test::IsOk());
    EXPECT_TRUE(around->deviceClocks.empty());
    const std::map<StepIndex, Duration> times{
        {StepIndex{0}, {200'000}}, {StepIndex{1}, {500'000 + 1'000}}, {StepIndex{2}, {4'000}}};
    EXPECT_THAT(around->driverMemory, testing::ElementsAre(testing::Pair(RankId{0}, times)))
        << "of rank 1 no calls were traced";
}

}  // namespace
}  // namespace shardscope::questions
