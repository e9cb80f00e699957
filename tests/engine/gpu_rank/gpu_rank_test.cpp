// GPU ranks end to end on a fake device: the real programs, a module whose device is host memory.
#include "storage/model/step_facts.h"
#include "tests/engine/gpu_rank/fake_gpu_test.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

namespace shardscope::cli {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

class GpuRank : public FakeGpuTest {
protected:
    /// A run that goes wrong in `how`; returns what was said.
    std::string failing(const std::string& how, int status) {
        environment["SHARDSCOPE_FAKE_DEVICE"] = how;
        const auto program = record();
        EXPECT_EQ(program->wait(), status) << program->err();
        return program->err();
    }
    std::vector<std::string> codes() {
        std::vector<std::string> list;
        for (const Diagnostic& diagnostic : recorded().diagnostics) list.push_back(diagnostic.code);
        return list;
    }
};

TEST_F(GpuRank, RecordsWhatADeviceDid) {
    const auto program = record();
    ASSERT_EQ(program->wait(), 0) << program->err();
    const json r = report();
    EXPECT_TRUE(r.at("completeness").at("complete")) << r.at("completeness");
    EXPECT_EQ(r.at("dropped"), 0);
    EXPECT_LT(r.at("loss").at("last"), r.at("loss").at("first"));
    ASSERT_EQ(r.at("devices").size(), 1u);
    const json& device = r.at("devices")[0];
    EXPECT_EQ(device.at("name"), "NVIDIA H200");
    EXPECT_EQ(device.at("vendor_peak_flops"), 67e12);  // fp32
    EXPECT_EQ(device.at("measured_peak_flops"), 750e12);
    EXPECT_GT(device.at("kernels"), 100);
    EXPECT_GT(device.at("compute_ns"), 0);
    EXPECT_GT(r.at("mfu").at("value"), 0);
    EXPECT_THAT(r.at("mfu").at("peak_source").get<std::string>(), HasSubstr("dense fp32"));
    for (const json& row : r.at("ledger")) {
        std::int64_t sum = 0;
        for (const auto& part : row.at("parts")) sum += part.get<std::int64_t>();
        EXPECT_EQ(sum, row.at("wall_ns").get<std::int64_t>());
    }
}

TEST_F(GpuRank, RefusesGraphsOfTensorsThatAreNotOnADevice) {
    const auto program = record({"--graphs"});
    EXPECT_EQ(program->wait(), 5) << program->err();
    EXPECT_THAT(program->err(), HasSubstr("graphs are of devices, and tensors are on cpu"));
}

TEST_F(GpuRank, RecordsWhatItDidInFp16) {
    const auto program = record({"--precision", "fp16"});
    ASSERT_EQ(program->wait(), 0) << program->err();
    const json r = report();
    EXPECT_LT(r.at("loss").at("last"), r.at("loss").at("first"));
    const json& device = r.at("devices")[0];
    EXPECT_EQ(device.at("measured_peak_flops"), 1500e12);  // of products in fp16, not in fp32
    EXPECT_THAT(r.at("mfu").at("peak_source").get<std::string>(), HasSubstr("dense fp16"));
}

TEST_F(GpuRank, KernelsKnowTheirStepLayerAndPhase) {
    const auto program = record();
    ASSERT_EQ(program->wait(), 0) << program->err();
    std::set<std::int32_t> steps;
    std::set<std::int16_t> backwardLayers;
    for (const SpanEvent& kernel : kernels()) {
        EXPECT_NE(kernel.correlation, 0u);
        if (kernel.step != kNoStep) steps.insert(kernel.step.value);
        if (kernel.phase == Phase::kBackward) backwardLayers.insert(kernel.layer.value);
    }
    EXPECT_EQ(steps.size(), 8u);
    EXPECT_THAT(backwardLayers, testing::ElementsAre(-2, 0, 1, 2));
}

TEST_F(GpuRank, BelowLaunchesKernelsKnowNothing) {
    const auto program = record({"--capture", "light"});
    ASSERT_EQ(program->wait(), 0) << program->err();
    const auto kernels = this->kernels();
    EXPECT_GT(kernels.size(), 8u * 2u * 3u);
    for (const SpanEvent& kernel : kernels) EXPECT_EQ(kernel.step, kNoStep);
    const json r = report();
    EXPECT_TRUE(r.at("completeness").at("complete")) << r.at("completeness");
    EXPECT_GT(r.at("devices")[0].at("compute_ns"), 0);
}

/// Gathers and reductions, and the kernel that adds what came, are launched between phases.
TEST_F(GpuRank, WhatIsLaunchedBetweenPhasesBelongsToItsStep) {
    const auto program = record({"--capture", "light", "--device-capture", "launches"});
    ASSERT_EQ(program->wait(), 0) << program->err();
    const std::vector<StepFacts> steps = recorded().steps;
    ASSERT_EQ(steps.size(), 8u);
    bool ofLayer = false;
    for (const SpanEvent& kernel : kernels()) {
        const bool within = std::any_of(steps.begin(), steps.end(), [&](const StepFacts& step) {
            return step.start <= kernel.start && kernel.end() <= step.end;
        });
        if (!within) continue;
        EXPECT_NE(kernel.step, kNoStep);
        ofLayer = ofLayer || (kernel.phase == Phase::kNone && kernel.layer == LayerIndex{1});
    }
    EXPECT_TRUE(ofLayer) << "a collective's kernels are those of the layer it is for";
}

TEST_F(GpuRank, SwitchingTheTracerOffWaitsForTheDevice) {
    const auto program = record({"--alternate-capture"});
    ASSERT_EQ(program->wait(), 0) << program->err();
    std::set<std::int32_t> steps;
    for (const SpanEvent& kernel : kernels())
        if (kernel.phase == Phase::kBackward) steps.insert(kernel.step.value);
    EXPECT_THAT(steps, testing::ElementsAre(0, 2, 4, 6));
}

TEST_F(GpuRank, TheAttentionKernelCanBeFixed) {
    const auto program = record({"--attention", "flash"});
    ASSERT_EQ(program->wait(), 0) << program->err();
    EXPECT_EQ(json::parse(recorded().run.configJson).at("attention"), "flash");
    EXPECT_EQ(record({"--attention", "blocked"})->wait(), 2);
}

TEST_F(GpuRank, CollectivesArePutBetweenTheDevicesEvents) {
    const auto program = record();
    ASSERT_EQ(program->wait(), 0) << program->err();
    const auto reader = storage::openRecording(output()).value();
    const auto events = reader->rankEvents(RankId{0}, reader->summary().value().bounds).value();
    ASSERT_GT(events.collectives.size(), 8u * 2u * 7u);
    std::uint64_t sequence = 0;
    for (const CollectiveEvent& event : events.collectives) {
        EXPECT_EQ(event.sequence, ++sequence);
        EXPECT_LE(event.issue, event.start);
        EXPECT_LE(event.start, event.end);
    }
    EXPECT_FALSE(events.phases.empty());
    for (std::size_t i = 1; i < events.phases.size(); ++i) {
        // A mark ends one phase before the next begins; the clock's reference may move between.
        EXPECT_GE(events.phases[i].start.ns, events.phases[i - 1].start.ns);
    }
}

TEST_F(GpuRank, FollowsTheCpuRanksLosses) {
    const auto onDevice = record({"--seed", "5"});
    ASSERT_EQ(onDevice->wait(), 0) << onDevice->err();
    const json device = report();
    std::filesystem::remove(output());
    const auto onCpu = record({"--seed", "5", "--device", "cpu"});
    ASSERT_EQ(onCpu->wait(), 0) << onCpu->err();
    const json cpu = report();
    EXPECT_NEAR(device.at("loss").at("last"), cpu.at("loss").at("last"), 1e-5);
    EXPECT_NEAR(device.at("loss").at("validation_last"), cpu.at("loss").at("validation_last"),
                1e-5);
}

TEST_F(GpuRank, StateInHostMemoryAndAHeadInPiecesLearnTheSame) {
    std::vector<double> losses;
    for (const std::vector<std::string>& more :
         std::vector<std::vector<std::string>>{{},
                                               {"--offload", "optimizer"},
                                               {"--offload", "gradients"},
                                               {"--vocabulary-pieces", "3"}}) {
        const auto program = record(more);
        ASSERT_EQ(program->wait(), 0) << program->err();
        const json r = report();
        EXPECT_TRUE(r.at("completeness").at("complete")) << r.at("completeness");
        losses.push_back(r.at("loss").at("last"));
        std::filesystem::remove(output());
    }
    EXPECT_EQ(losses[1], losses[0]);
    EXPECT_EQ(losses[2], losses[0]);
    EXPECT_NEAR(losses[3], losses[0], 1e-5);
}

TEST_F(GpuRank, SingleAndUntracedRunsWork) {
    const auto program =
        record({"--strategy", "single", "--device-capture", "never", "--capture", "light"});
    ASSERT_EQ(program->wait(), 0) << program->err();
    const json r = report();
    EXPECT_TRUE(r.at("completeness").at("complete")) << r.at("completeness");
    EXPECT_EQ(r.at("devices")[0].at("kernels"), 0);
    EXPECT_THAT(r.at("devices")[0].at("tracing").get<std::string>(), HasSubstr("switched off"));
}

TEST_F(GpuRank, ATracerThatIsTakenLeavesThePhases) {
    environment["SHARDSCOPE_FAKE_DEVICE"] = "busy";
    const auto program = record();
    ASSERT_EQ(program->wait(), 0) << program->err();
    EXPECT_THAT(codes(), Contains("cupti-busy"));
    const json r = report();
    EXPECT_TRUE(r.at("completeness").at("complete")) << r.at("completeness");
    EXPECT_THAT(r.at("devices")[0].at("tracing").get<std::string>(), HasSubstr("another tool"));
}

TEST_F(GpuRank, ASliceHasNoPeakAndSaysWhy) {
    environment["SHARDSCOPE_FAKE_DEVICE"] = "slice";
    const auto program = record();
    ASSERT_EQ(program->wait(), 0) << program->err();
    const json r = report();
    EXPECT_TRUE(r.at("mfu").at("value").is_null());
    EXPECT_THAT(r.at("mfu").at("reason").get<std::string>(), HasSubstr("MIG"));
}

TEST_F(GpuRank, WhatTheHostLacksIsSaidBeforeAnythingStarts) {
    EXPECT_THAT(failing("no driver", 4), HasSubstr("there is no NVIDIA driver on this host"));
    EXPECT_EQ(recorded().run.status, RunStatus::kFailed);
}

TEST_F(GpuRank, AnOldDriverIsNamed) {
    EXPECT_THAT(failing("old driver", 4), HasSubstr("knows CUDA up to 12.4"));
}

TEST_F(GpuRank, NoDeviceIsNoDevice) {
    EXPECT_THAT(failing("no device", 4), HasSubstr("shows no GPU"));
}

TEST_F(GpuRank, ADeviceThatCannotBeOpenedIsNamed) {
    EXPECT_THAT(failing("unopenable", 4),
                HasSubstr("NVIDIA H200 (0000:17:00.0) cannot be opened: device is in exclusive"));
}

TEST_F(GpuRank, MoreRanksThanDevicesAreRefused) {
    const auto program = record({"--ranks", "2"});
    EXPECT_EQ(program->wait(), 4);
    EXPECT_THAT(program->err(), HasSubstr("2 ranks need 2 GPUs, this host has 1"));
    EXPECT_THAT(program->err(), HasSubstr("--share-device"));
}

TEST_F(GpuRank, OutOfMemoryIsExplained) {
    EXPECT_THAT(failing("out of memory", 5),
                HasSubstr("NVIDIA H200 has no memory for another 3072.0 MiB"));
    EXPECT_GT(recorded().events.total(), 100u);
}

TEST_F(GpuRank, ARunThatFailsKeepsTheKernelsOfItsLastStep) {
    failing("out of memory", 5);
    std::int32_t last = -1;
    for (const SpanEvent& kernel : kernels()) last = std::max(last, kernel.step.value);
    EXPECT_EQ(last, lastStep()) << "kernels came until the step that failed";
}

TEST_F(GpuRank, ATracerThatABrokenDeviceHoldsDoesNotHoldTheRun) {
    EXPECT_THAT(failing("lost, tracer held", 5), HasSubstr("unspecified launch failure"));
    EXPECT_GT(recorded().events.total(), 100u);
}

TEST_F(GpuRank, ALostDeviceEndsTheRunInBoundedTime) {
    EXPECT_THAT(failing("lost", 5), HasSubstr("unspecified launch failure"));
    EXPECT_GT(recorded().events.total(), 100u);
}

TEST_F(GpuRank, AHungCollectiveIsNamedAndEndsTheRun) {
    environment["SHARDSCOPE_FAKE_DEVICE"] = "hang";
    const auto program = record({"--collective-timeout", "1"});
    EXPECT_EQ(program->wait(), 5);
    EXPECT_THAT(program->err(), HasSubstr("has been running on rank 0 for more than 1 s"));
    EXPECT_GT(recorded().events.total(), 100u);
    EXPECT_TRUE(recorded().complete);
    EXPECT_FALSE(kernels().empty());
}

TEST_F(GpuRank, WhatNcclRefusesIsSaid) {
    EXPECT_THAT(failing("peer lost", 5), HasSubstr("NCCL failed on rank 0 of 1 in all-gather"));
}

TEST_F(GpuRank, WhatNcclNoticesEndsTheRun) {
    EXPECT_THAT(failing("remote", 5), HasSubstr("NCCL reports on rank 0: remote process exited"));
}

}  // namespace
}  // namespace shardscope::cli
