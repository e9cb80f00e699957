// What the models say about ranks on GPUs: lanes and their groups, kernels, counters, devices.
#include "app/desktop/loading/load_recording.h"
#include "app/desktop/models/recording_texts.h"
#include "app/desktop/pages/memory/memory_model.h"
#include "app/desktop/pages/memory/memory_query.h"
#include "app/desktop/pages/newrun/run_form.h"
#include "app/desktop/pages/overview/overview_model.h"
#include "app/desktop/pages/overview/trace_tables.h"
#include "app/desktop/pages/timeline/details/device_slice.h"
#include "app/desktop/pages/timeline/details/slice_details.h"
#include "app/desktop/pages/timeline/lanes/lane_layout.h"
#include "app/desktop/pages/timeline/timeline_query.h"
#include "app/desktop/pages/timeline/tracks/counter_lane.h"
#include "app/desktop/pages/timeline/tracks/lane_painter.h"
#include "storage/model/rank_facts.h"
#include "tests/support/sample_device.h"
#include "tests/support/sample_recording.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using ::testing::ElementsAre;
using ::testing::Not;

/// A recording opened without a window.
class GpuRecordingTest : public ::testing::Test {
protected:
    void open(test::SampleOptions options = {}) {
        options.gpu = true;
        const std::string path = m_folder.file("gpu.sscope");
        const auto written = test::writeSampleRecording(path, options);
        ASSERT_TRUE(written) << written.error().message;
        auto reader = storage::openRecording(path);
        ASSERT_TRUE(reader) << reader.error().message;
        m_reader = std::move(*reader);
        auto loaded = loadRecording(*m_reader, QString::fromStdString(path));
        ASSERT_TRUE(loaded) << loaded.error().message;
        m_recording = *loaded;
    }

    [[nodiscard]] const RecordingSummary& summary() const { return m_recording->summary; }

    /// Slices of a lane, drawn one by one.
    std::vector<SliceView> slices(LaneId lane) {
        TimelineQuery query{m_recording->bounds(), {1}, {{RankId{0}, lane}}};
        const auto frame = loadTimeline(*m_reader, *m_recording, query, {});
        EXPECT_TRUE(frame);
        return frame ? (*frame)->lanes.front().slices : std::vector<SliceView>{};
    }

    SliceView firstSlice(LaneId lane) {
        const auto all = slices(lane);
        EXPECT_FALSE(all.empty());
        return all.empty() ? SliceView{} : all[all.size() / 2];
    }

    [[nodiscard]] const LaneFacts& lane(LaneId id) const {
        return *std::find_if(summary().lanes.begin(), summary().lanes.end(),
                             [&](const LaneFacts& each) { return each.lane == id; });
    }

    std::vector<LinkedSlice> links(LaneId from, const SliceView& slice) {
        const auto found = loadLinks(*m_reader, *m_recording,
                                     {{RankId{0}, from}, slice.range, slice.correlation}, {});
        EXPECT_TRUE(found);
        return found ? *found : std::vector<LinkedSlice>{};
    }

    test::TemporaryFolder m_folder;
    std::unique_ptr<storage::RecordingReader> m_reader;
    RecordingPtr m_recording;
};

std::vector<QString> namesOf(const LaneLayout& layout, RankId rank) {
    std::vector<QString> names;
    for (const LaneRow& row : layout.rows) {
        if (row.key.rank == rank) names.push_back(row.name);
    }
    return names;
}

QString valueOf(const std::vector<std::pair<QString, QString>>& rows, const QString& name) {
    for (const auto& [key, value] : rows) {
        if (key == name) return value;
    }
    return u"(none)"_s;
}

TEST_F(GpuRecordingTest, LanesStandInGroups) {
    ASSERT_NO_FATAL_FAILURE(open());
    EXPECT_THAT(
        namesOf(layOutLanes(summary(), {}), {0}),
        ElementsAre(u"rank 0"_s, u"summary"_s, u"step"_s, u"compute"_s, u"communication"_s,
                    u"memory"_s, u"stream 7 (compute)"_s, u"kernels"_s, u"copies"_s,
                    u"stream 19 (compute, communication)"_s, u"kernels"_s, u"NCCL"_s,
                    u"main thread 4000"_s, u"operators"_s, u"tracer overhead"_s, u"thread 4711"_s,
                    u"CUDA calls"_s, u"CUDA waits"_s, u"counters (21)"_s));
}

TEST_F(GpuRecordingTest, CountersAreFoldedUntilAskedFor) {
    ASSERT_NO_FATAL_FAILURE(open());
    LaneLayoutOptions options;
    EXPECT_EQ(layOutLanes(summary(), options).row({RankId{0}, test::kPowerLane}), nullptr);
    options = revealing(summary(), options, {RankId{0}, test::kPowerLane});
    const LaneLayout layout = layOutLanes(summary(), options);
    ASSERT_NE(layout.row({RankId{0}, test::kPowerLane}), nullptr);
    EXPECT_EQ(layout.row({RankId{1}, test::kPowerLane}), nullptr) << "each rank on its own";
    for (std::size_t i = 1; i < layout.rows.size(); ++i)
        EXPECT_GE(layout.rows[i].y, layout.rows[i - 1].y + layout.rows[i - 1].height);
    EXPECT_EQ(options.toggled,
              revealing(summary(), options, {RankId{0}, test::kPowerLane}).toggled);
}

TEST_F(GpuRecordingTest, RevealingOpensTheRankAndTheGroup) {
    ASSERT_NO_FATAL_FAILURE(open());
    LaneLayoutOptions options;
    options.collapsed.insert(RankId{0});
    options.toggled.insert({RankId{0}, u"thread 4711"_s});
    const LaneAddress call{RankId{0}, test::kCallLane};
    EXPECT_EQ(layOutLanes(summary(), options).row(call), nullptr);
    EXPECT_NE(layOutLanes(summary(), revealing(summary(), options, call)).row(call), nullptr);
}

TEST_F(GpuRecordingTest, StreamsAreGroupedBeforeTheDeviceIsKnown) {
    ASSERT_NO_FATAL_FAILURE(open());
    RecordingSummary unfinished = summary();
    unfinished.devices.clear();
    EXPECT_THAT(namesOf(layOutLanes(unfinished, {}), {0}),
                testing::Contains(u"stream 7 (compute)"_s));
}

TEST_F(GpuRecordingTest, AFoldedRankIsOneRowOfItsKernels) {
    ASSERT_NO_FATAL_FAILURE(open());
    LaneLayoutOptions options;
    options.collapsed.insert(RankId{0});
    EXPECT_THAT(namesOf(layOutLanes(summary(), options), {0}), ElementsAre(u"rank 0"_s, QString()));
    const LaneLayout layout = layOutLanes(summary(), options);
    EXPECT_EQ(layout.rows[0].y, layout.rows[1].y) << "beside its name";
    EXPECT_EQ(layout.rows[1].kind, LaneRow::Kind::kSummary);
    EXPECT_EQ(layout.rows[1].parts.size(), 4U);
    EXPECT_EQ(layout.row({RankId{0}, test::kKernelLane}), &layout.rows[1]);
}

TEST_F(GpuRecordingTest, WithoutATraceThereIsNoGroupOfStreamsButAReason) {
    test::SampleOptions options;
    options.gpuTraced = false;
    ASSERT_NO_FATAL_FAILURE(open(options));
    const LaneLayout layout = layOutLanes(summary(), {});
    EXPECT_THAT(namesOf(layout, {0}), Not(testing::Contains(testing::Truly([](const QString& name) {
                    return name.startsWith(u"stream"_s);
                }))));
    EXPECT_TRUE(layout.rows.front().note.contains(u"not traced: another profiler"_s));
    EXPECT_FALSE(layout.rows.front().warns);
}

TEST_F(GpuRecordingTest, ASharedDeviceIsNamedAtItsRanks) {
    test::SampleOptions options;
    options.gpuShared = true;
    ASSERT_NO_FATAL_FAILURE(open(options));
    const LaneLayout layout = layOutLanes(summary(), {});
    EXPECT_EQ(layout.rows.front().note, u"NVIDIA H100 80GB HBM3 · shared by 2 ranks"_s);
    EXPECT_TRUE(layout.rows.front().warns);
}

TEST_F(GpuRecordingTest, TheMemoryStripHasNoTheoryWhereItHoldsMore) {
    ASSERT_NO_FATAL_FAILURE(open());
    const LaneLayout layout = layOutLanes(summary(), {});
    EXPECT_EQ(layout.row({RankId{0}, kMemoryTotalLane})->theoryBytes, 0);
}

TEST_F(GpuRecordingTest, AKernelSaysHowItWasLaunched) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto all = slices(test::kKernelLane);
    const auto gemm = std::find_if(all.begin(), all.end(), [](const SliceView& slice) {
        return slice.phase == Phase::kForward && slice.layer == LayerIndex{3} &&
               slice.name.startsWith(u"nvjet_hsh_192x192"_s);
    });
    ASSERT_NE(gemm, all.end());
    EXPECT_TRUE(gemm->onDevice);
    const SliceDetails details = sliceDetails(*m_recording, lane(test::kKernelLane), *gemm);
    EXPECT_EQ(details.title, gemm->name);
    EXPECT_EQ(details.meaning, Meaning::kCompute);
    EXPECT_EQ(valueOf(details.rows, u"lane"_s), u"stream 7"_s);
    EXPECT_EQ(valueOf(details.rows, u"layer"_s), u"block 3"_s);
    EXPECT_EQ(valueOf(details.rows, u"phase"_s), u"forward"_s);
    EXPECT_EQ(valueOf(details.rows, u"step"_s), QString::number(gemm->step.value));
    EXPECT_EQ(valueOf(details.rows, u"operator"_s), u"aten::addmm"_s);
    EXPECT_EQ(valueOf(details.rows, u"grid"_s), u"132 × 1 × 1"_s);
    EXPECT_EQ(valueOf(details.rows, u"block"_s), u"384 × 1 × 1"_s);
    EXPECT_EQ(valueOf(details.rows, u"threads"_s), u"50,688"_s);
    EXPECT_EQ(valueOf(details.rows, u"registers"_s), u"168 per thread"_s);
    EXPECT_EQ(valueOf(details.rows, u"shared memory"_s), u"208\u2009KiB per block"_s);
    EXPECT_EQ(valueOf(details.rows, u"arguments"_s), u"(none)"_s);
    EXPECT_TRUE(details.code.startsWith(u"void nvjet"_s)) << details.code.toStdString();
}

TEST_F(GpuRecordingTest, ACopySaysHowMuchHowFastAndWhere) {
    ASSERT_NO_FATAL_FAILURE(open());
    const SliceView copy = slices(test::kCopyLane).front();
    const auto rows = sliceDetails(*m_recording, lane(test::kCopyLane), copy).rows;
    EXPECT_EQ(valueOf(rows, u"bytes"_s), u"512\u2009KiB"_s);
    EXPECT_EQ(valueOf(rows, u"from"_s), u"pinned host"_s);
    EXPECT_EQ(valueOf(rows, u"to"_s), u"device"_s);
    EXPECT_EQ(valueOf(rows, u"rate"_s), u"5.83\u2009GB/s"_s);
}

TEST_F(GpuRecordingTest, AKernelAndItsLaunchFindEachOther) {
    ASSERT_NO_FATAL_FAILURE(open());
    const SliceView kernel = firstSlice(test::kKernelLane);
    const auto launches = links(test::kKernelLane, kernel);
    ASSERT_EQ(launches.size(), 1U);
    EXPECT_EQ(launches[0].key, (LaneAddress{RankId{0}, test::kCallLane}));
    EXPECT_EQ(launches[0].slice.name, u"cudaLaunchKernelExC"_s);
    EXPECT_LE(launches[0].slice.range.end, kernel.range.begin);
    const LinkTexts texts = linkTexts(summary(), {RankId{0}, test::kKernelLane}, kernel, launches);
    EXPECT_EQ(valueOf(texts.rows, u"launched by"_s), u"cudaLaunchKernelExC"_s);
    EXPECT_EQ(valueOf(texts.rows, u"launch to start"_s),
              formatDuration(kernel.range.begin - launches[0].slice.range.begin));
    EXPECT_FALSE(texts.action.isEmpty());

    const auto back = links(test::kCallLane, launches[0].slice);
    ASSERT_EQ(back.size(), 1U);
    EXPECT_EQ(back[0].slice, kernel);
    const LinkTexts there =
        linkTexts(summary(), {RankId{0}, test::kCallLane}, launches[0].slice, back);
    EXPECT_EQ(valueOf(there.rows, u"started"_s), kernel.name);
    EXPECT_EQ(valueOf(there.rows, u"runs on"_s), u"stream 7"_s);
}

TEST_F(GpuRecordingTest, AWaitBelongsToTheCallThatWaits) {
    ASSERT_NO_FATAL_FAILURE(open());
    const SliceView wait = firstSlice(test::kWaitLane);
    const auto calls = links(test::kWaitLane, wait);
    ASSERT_EQ(calls.size(), 1U);
    EXPECT_EQ(calls[0].slice.name, u"cudaStreamSynchronize"_s);
    EXPECT_EQ(valueOf(linkTexts(summary(), {RankId{0}, test::kWaitLane}, wait, calls).rows,
                      u"belongs to"_s),
              u"cudaStreamSynchronize"_s);
    EXPECT_EQ(valueOf(tracedRows(LaneRole::kSync, wait), u"waits for stream"_s), u"7"_s);
}

SliceView kernelWith(const char* arguments) {
    SliceView kernel;
    kernel.onDevice = true;
    kernel.range = {{0}, {1000}};
    kernel.arguments = QString::fromUtf8(arguments);
    return kernel;
}

TEST(KernelDetails, ReadWhatPyTorchWrote) {
    const auto rows = tracedRows(
        LaneRole::kCompute,
        kernelWith(R"({"External id":976,"queued":0,"device":0,"context":1,"stream":7,)"
                   R"("registers per thread":57,"shared memory":16384,"blocks per SM":29.037037,)"
                   R"("warps per SM":116.148148,"grid":[3136,1,1],"block":[128,1,1],)"
                   R"("est. achieved occupancy %":19})"));
    EXPECT_EQ(valueOf(rows, u"registers"_s), u"57 per thread"_s);
    EXPECT_EQ(valueOf(rows, u"shared memory"_s), u"16.0\u2009KiB per block"_s);
    EXPECT_EQ(valueOf(rows, u"occupancy"_s), u"19.0\u2009%, estimated"_s);
    EXPECT_EQ(valueOf(rows, u"blocks per SM"_s), u"29.037037"_s);
    EXPECT_EQ(valueOf(rows, u"stream"_s), u"7"_s);
    EXPECT_EQ(valueOf(rows, u"context"_s), u"1"_s);
    EXPECT_EQ(valueOf(rows, u"external id"_s), u"976"_s);
}

TEST(KernelDetails, WhatIsNotThereWasNotRecorded) {
    const auto rows = tracedRows(LaneRole::kCompute, kernelWith(R"({"stream":7})"));
    for (const auto& name : {u"grid"_s, u"block"_s, u"registers"_s, u"shared memory"_s})
        EXPECT_EQ(valueOf(rows, name), u"not recorded"_s) << name.toStdString();
}

TEST(KernelDetails, NoArgumentIsLost) {
    const auto rest = otherArguments(
        kernelWith(R"({"registers":32,"launch":"regular","cluster":[0,0,0],"ratio":0.25})"));
    EXPECT_EQ(rest.size(), 3U);
    EXPECT_EQ(valueOf(rest, u"launch"_s), u"regular"_s);
    EXPECT_EQ(valueOf(rest, u"cluster"_s), u"[0,0,0]"_s);
    EXPECT_EQ(valueOf(rest, u"ratio"_s), u"0.25"_s);
    EXPECT_EQ(valueOf(otherArguments(kernelWith("no object")), u"arguments"_s), u"no object"_s);
}

TEST(KernelDetails, FramesOfPythonAreAFunctionALine) {
    const auto rest = otherArguments(kernelWith(
        R"j({"frames":[{"name":"forward","filename":"/v/site-packages/nn/linear.py","line":134},)j"
        R"j({"name":"(outer frames are left out)","filename":"","line":0}]})j"));
    EXPECT_EQ(valueOf(rest, u"frames"_s), u"nn/linear.py(134): forward"_s +
                                              QChar(QChar::LineSeparator) +
                                              u"(outer frames are left out)"_s);
    const auto foreign = otherArguments(kernelWith(R"({"frames":[1,2]})"));
    EXPECT_EQ(valueOf(foreign, u"frames"_s), u"[1,2]"_s);
}

TEST_F(GpuRecordingTest, AKernelWithoutALaunchSaysSo) {
    ASSERT_NO_FATAL_FAILURE(open());
    SliceView kernel = firstSlice(test::kKernelLane);
    kernel.correlation = 987'654'321;
    EXPECT_TRUE(links(test::kKernelLane, kernel).empty());
    const LinkTexts texts = linkTexts(summary(), {RankId{0}, test::kKernelLane}, kernel, {});
    EXPECT_EQ(valueOf(texts.rows, u"launched by"_s), u"call not recorded"_s);
    EXPECT_TRUE(texts.action.isEmpty());
}

TEST_F(GpuRecordingTest, KernelsOfNcclAreNoCollectives) {
    ASSERT_NO_FATAL_FAILURE(open());
    SliceView kernel = firstSlice(test::kNcclLane);
    EXPECT_FALSE(mayBeLinked(test::kNcclLane, kernel));
    const LaneAddress key{RankId{0}, test::kNcclLane};
    // whatever number stands there, it is no sequence
    CollectiveView any;
    any.peers[RankId{0}] = any.peers[RankId{1}] = any.event;
    kernel.correlation = 3;
    EXPECT_FALSE(sameCollective(any, m_recording->summary, key, kernel, 1));
    const SliceDetails details = sliceDetails(*m_recording, lane(test::kNcclLane), kernel);
    EXPECT_TRUE(details.arrivals.empty());
    EXPECT_EQ(valueOf(details.rows, u"sequence"_s), u"(none)"_s);
    EXPECT_EQ(valueOf(details.rows, u"grid"_s), u"24 × 1 × 1"_s);
    EXPECT_EQ(kernel.waitedUntil, kernel.range.begin);
}

TEST_F(GpuRecordingTest, TheSameCollectiveIsOnTheEnginesOwnLane) {
    ASSERT_NO_FATAL_FAILURE(open());
    const SliceView slice = firstSlice(lanes::kCommunication.id);
    const auto view = loadCollective(*m_reader, *m_recording, {0},
                                     CollectiveKey::of(slice.correlation), slice.range);
    ASSERT_TRUE(view && *view);
    const auto other = sameCollective(**view, m_recording->summary,
                                      {RankId{0}, lanes::kCommunication.id}, slice, 1);
    ASSERT_TRUE(other);
    EXPECT_EQ(other->key, (LaneAddress{RankId{1}, lanes::kCommunication.id}));
    EXPECT_EQ(other->slice.correlation, slice.correlation);
}

TEST_F(GpuRecordingTest, NcclKernelsTakeTheColourOfTheirCollective) {
    ASSERT_NO_FATAL_FAILURE(open());
    std::set<Meaning> meanings;
    for (const SliceView& kernel : slices(test::kNcclLane))
        meanings.insert(sliceMeaning(LaneRole::kCommunication, kernel));
    EXPECT_THAT(meanings, ElementsAre(Meaning::kGather, Meaning::kReduction, Meaning::kAllReduce));
}

TEST(KernelMeaning, FollowsThePhaseAndNeverWaits) {
    SliceView kernel;
    kernel.onDevice = true;
    const auto meaning = [&](Phase phase) {
        kernel.phase = phase;
        return sliceMeaning(LaneRole::kCompute, kernel);
    };
    EXPECT_EQ(meaning(Phase::kBackward), Meaning::kCompute);
    EXPECT_EQ(meaning(Phase::kOptimizer), Meaning::kOptimizer);
    EXPECT_EQ(meaning(Phase::kEvaluation), Meaning::kEvaluation);
    EXPECT_EQ(meaning(Phase::kWaitGather), Meaning::kCompute) << "launched while waiting";
    EXPECT_EQ(meaning(Phase::kNone), Meaning::kCompute) << "not attributed";
    EXPECT_EQ(sliceMeaning(LaneRole::kCopy, kernel), Meaning::kCopy);
    kernel.onDevice = false;
    EXPECT_EQ(meaning(Phase::kWaitGather), Meaning::kWaitGather);
}

TEST(CounterUnits, AreThoseAPersonReads) {
    EXPECT_EQ(formatCounter(312, u"W"_s), u"312\u2009W"_s);
    EXPECT_EQ(formatCounter(1.25e6, u"J"_s), u"1.25\u2009MJ"_s);
    EXPECT_EQ(formatCounter(1.98e9, u"Hz"_s), u"1.98\u2009GHz"_s);
    EXPECT_EQ(formatCounter(64, u"degC"_s), u"64.0\u2009°C"_s);
    EXPECT_EQ(formatCounter(0.831, u"1"_s), u"83.1\u2009%"_s);
    EXPECT_EQ(formatCounter(4.1e10, u"bytes/s"_s), u"41.0\u2009GB/s"_s);
    EXPECT_EQ(formatCounter(8589934592.0, u"bytes"_s), u"8.00\u2009GiB"_s);
    EXPECT_EQ(formatCounter(0, u"W"_s), u"0\u2009W"_s);
    EXPECT_EQ(formatSi(0.00109, u"J"_s), u"1.09\u2009mJ"_s);
}

TEST(CounterLanes, SharesFillToOneAndLevelsThatHardlyChangeShowTheirChange) {
    LaneFrame frame;
    const TimeRange view{{0}, {100}};
    frame.points = {{{{0}, {10}}, 0.2, 0.4, 0.4}};
    LaneRow row;
    row.unit = u"1"_s;
    EXPECT_EQ(shownCounter(row, frame, view).top, 1);
    row.unit = u"W"_s;
    EXPECT_EQ(shownCounter(row, frame, view).bottom, 0);
    row.unit = u"bytes"_s;
    frame.points = {{{{0}, {50}}, 1000, 1000, 1000}, {{{50}, {100}}, 1100, 1100, 1100}};
    const ShownCounter resident = shownCounter(row, frame, view);
    EXPECT_GT(resident.bottom, 900);
    EXPECT_LT(resident.bottom, 1000) << "the lowest is not at the bottom: that would be nothing";
    row.theoryBytes = 1200;
    EXPECT_EQ(shownCounter(row, frame, view).bottom, 0) << "beside theory the whole counts";
    EXPECT_FALSE(shownCounter(row, frame, {{200}, {300}}).isKnown);
}

TEST(CounterLanes, SumsAreShownAsRates) {
    LaneFrame frame;
    // an old sample, then every 100 ms: 50 ms, none, 180 ms of processor time
    const std::int64_t ms = 1'000'000;
    const auto sample = [&](std::int64_t at, std::int64_t end, double value) {
        frame.points.push_back({{{at * ms}, {end * ms}}, value, value, value});
    };
    sample(0, 40, 7e9);
    sample(40, 140, 7e9 + 30e6);
    sample(140, 240, 7e9 + 80e6);
    sample(240, 340, 7e9 + 80e6);
    sample(340, 400, 7e9 + 260e6);
    LaneRow row;
    row.unit = u"ns"_s;
    const ShownCounter cpu = shownCounter(row, frame, {{0}, {400 * ms}});
    EXPECT_TRUE(cpu.rate);
    EXPECT_EQ(cpu.unit, u"1"_s);
    ASSERT_EQ(cpu.points.size(), 3U) << "in which time the first 30 ms were spent is unknown";
    EXPECT_NEAR(cpu.points[0].last, 0.5, 1e-9);
    EXPECT_NEAR(cpu.points[1].last, 0, 1e-9);
    EXPECT_NEAR(cpu.highest, 1.8, 1e-9);
    EXPECT_NEAR(cpu.top, 1.8, 1e-9) << "of two cores";
    row.unit = u"J"_s;
    frame.points = {{{{0}, {1}}, 0, 0, 0},
                    {{{1'000'000'000}, {0}}, 5, 5, 5},
                    {{{2'000'000'000}, {0}}, 305, 305, 305}};
    const ShownCounter energy = shownCounter(row, frame, {{0}, {2'000'000'000}});
    ASSERT_EQ(energy.points.size(), 1U);
    EXPECT_NEAR(energy.points[0].last, 300, 1e-9);
    EXPECT_EQ(energy.unit, u"W"_s);
}

TEST(CounterLanes, NamesAndUnitsAreThoseOfWhatIsShown) {
    EXPECT_EQ(counterName(u"CPU time"_s, u"ns"_s), u"CPU"_s);
    EXPECT_EQ(counterName(u"power"_s, u"W"_s), u"power"_s);
    EXPECT_EQ(counterUnit(u"Total Allocated"_s, {}), u"bytes"_s);
    EXPECT_EQ(counterUnit(u"GPU Utilization"_s, {}), u"%"_s);
    EXPECT_EQ(counterUnit(u"queue length"_s, {}), QString());
    EXPECT_EQ(counterUnit(u"memory clock"_s, u"Hz"_s), u"Hz"_s);
    ShownCounter counter;
    counter.top = 4.2;
    counter.highest = 4;
    EXPECT_EQ(counterTicks(counter, 30).size(), 2U) << "its ends";
    EXPECT_GE(counterTicks(counter, 110).size(), 3U);
}

TEST_F(GpuRecordingTest, OverviewNamesDevicesPeaksAndKernels) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto devices = deviceRows(*wholePart(m_recording));
    ASSERT_EQ(devices.size(), 2U);
    EXPECT_EQ(devices[1][1].text, u"NVIDIA H100 80GB HBM3"_s);
    EXPECT_EQ(devices[1][2].text, u"79.6\u2009GiB"_s);
    EXPECT_EQ(devices[1][3].text, u"580.159.04"_s);
    EXPECT_EQ(devices[1][4].text, u"989\u2009TFLOP/s"_s);
    EXPECT_TRUE(devices[1][4].tip.contains(u"dense bf16"_s));
    EXPECT_EQ(devices[1][5].text, u"718\u2009TFLOP/s"_s);
    EXPECT_EQ(devices.front().size(), deviceColumns().size());
    const auto times = deviceTimeRows(*wholePart(m_recording));
    ASSERT_EQ(times.size(), 2U);
    EXPECT_EQ(times.front().size(), deviceTimeColumns().size());
    for (std::size_t column : {1U, 2U, 3U, 4U, 5U})
        EXPECT_TRUE(times[0][column].text.endsWith(u"%"_s)) << times[0][column].text.toStdString();
    EXPECT_TRUE(times[0][6].text.endsWith(u"J"_s));
    EXPECT_TRUE(times[0][7].text.endsWith(u"mJ"_s));
    EXPECT_TRUE(deviceTimeColumns()[3].definition.contains(u"HTA"_s));
    EXPECT_TRUE(deviceTimeNote(*wholePart(m_recording)).contains(u"CUPTI 130001"_s));
    EXPECT_TRUE(sharedDeviceText(*m_recording).isEmpty());
    const CardContent mfu =
        overviewCards(*wholePart(m_recording), wholePart(m_recording)->figures->ledger)[1];
    EXPECT_TRUE(mfu.detail.contains(u"PFLOP/s, data sheet"_s)) << mfu.detail.toStdString();
    EXPECT_TRUE(mfu.qualifier.contains(u"of measured"_s));
    EXPECT_TRUE(mfu.definition.contains(u"matrix product"_s));
}

TEST_F(GpuRecordingTest, TablesKeepTheColumnThatNamesTheirRows) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto tables = readTraceTables(*m_reader, *wholePart(m_recording), TraceTables::kAll);
    ASSERT_TRUE(tables) << tables.error().message;
    const auto columnsOf = [&](const QString& title) {
        QStringList names;
        for (const AnswerTable& table : *tables)
            if (table.title == title)
                for (const TableColumn& column : table.columns) names << column.title;
        return names;
    };
    EXPECT_EQ(columnsOf(u"Kernels"_s).mid(0, 5),
              (QStringList{u"name"_s, u"count"_s, u"total"_s, u"self"_s, u"of self time"_s}));
    EXPECT_EQ(columnsOf(u"Collectives"_s).value(0), u"operation"_s);
}

TEST_F(GpuRecordingTest, UntracedKernelsAreUnknownAndTheReasonStandsThere) {
    test::SampleOptions options;
    options.gpuTraced = false;
    ASSERT_NO_FATAL_FAILURE(open(options));
    const auto times = deviceTimeRows(*wholePart(m_recording));
    for (std::size_t column : {1U, 2U, 3U, 4U, 5U}) {
        EXPECT_EQ(times[0][column].text, unknownText());
        EXPECT_TRUE(times[0][column].tip.contains(u"another profiler"_s));
    }
    EXPECT_TRUE(times[0][6].text.endsWith(u"J"_s)) << "energy needs no trace";
    EXPECT_TRUE(deviceTimeNote(*wholePart(m_recording)).contains(u"another profiler"_s));
}

TEST_F(GpuRecordingTest, AnUnknownDeviceHasNoMfuAndSaysWhy) {
    test::SampleOptions options;
    options.gpuName = "NVIDIA Prototype 900";
    ASSERT_NO_FATAL_FAILURE(open(options));
    EXPECT_EQ(deviceRows(*wholePart(m_recording))[0][4].text, u"n/a"_s);
    const CardContent mfu =
        overviewCards(*wholePart(m_recording), wholePart(m_recording)->figures->ledger)[1];
    EXPECT_EQ(mfu.value.number, u"n/a"_s);
    EXPECT_TRUE(mfu.detail.contains(u"Prototype 900"_s)) << mfu.detail.toStdString();
    EXPECT_TRUE(mfu.verdict.isEmpty());
    EXPECT_TRUE(mfu.qualifier.contains(u"of measured"_s)) << "what is known stays";
}

TEST_F(GpuRecordingTest, SharingIsSaidAndTakesThePeakAway) {
    test::SampleOptions options;
    options.gpuShared = true;
    ASSERT_NO_FATAL_FAILURE(open(options));
    EXPECT_TRUE(sharedDeviceText(*m_recording).startsWith(u"Shared device: 2 ranks"_s));
    EXPECT_TRUE(deviceRows(*wholePart(m_recording))[0][1].text.contains(u"shared by 2"_s));
    const CardContent mfu =
        overviewCards(*wholePart(m_recording), wholePart(m_recording)->figures->ledger)[1];
    EXPECT_EQ(mfu.value.number, u"n/a"_s);
    EXPECT_TRUE(mfu.qualifier.isEmpty());
}

TEST_F(GpuRecordingTest, TheoryIsComparedWithWhatTheAllocatorHolds) {
    ASSERT_NO_FATAL_FAILURE(open());
    const auto* worst = worstRank(*wholePart(m_recording));
    ASSERT_NE(worst, nullptr);
    const Bytes outside = worst->byCategory[static_cast<std::size_t>(MemoryCategory::kOutside)];
    EXPECT_EQ(outside, Bytes{830LL << 20});
    EXPECT_EQ(worst->managed() + outside, worst->peak);
    // with the outside band the peak lies above theory, without it below
    ASSERT_GT(worst->peak, worst->theory);
    ASSERT_LT(worst->managed(), worst->theory);
    const QString headline = memoryHeadline(*wholePart(m_recording));
    EXPECT_TRUE(headline.contains(u"830\u2009MiB outside the allocator"_s))
        << headline.toStdString();
    EXPECT_TRUE(headline.contains(u"below theory"_s));
    EXPECT_TRUE(memorySubline(*wholePart(m_recording), {}).contains(u"theory does not include"_s));
    for (const Finding& finding : findings(*wholePart(m_recording)))
        EXPECT_FALSE(finding.title.contains(u"above theory"_s));
    const CardContent card =
        overviewCards(*wholePart(m_recording), wholePart(m_recording)->figures->ledger)[4];
    EXPECT_TRUE(card.detail.startsWith(u"0.9"_s)) << card.detail.toStdString();
    EXPECT_TRUE(card.detail.contains(u"without 830"_s));
}

TEST_F(GpuRecordingTest, TheOutsideBandHasItsWordAndNoTheory) {
    ASSERT_NO_FATAL_FAILURE(open());
    EXPECT_EQ(stackOrder().back(), MemoryCategory::kOutside) << "above what theory speaks of";
    const auto legend = memoryLegend(*wholePart(m_recording), {});
    const auto has = [&](const QString& text, Meaning meaning) {
        return std::any_of(legend.begin(), legend.end(), [&](const LegendEntry& entry) {
            return entry.text == text && entry.meaning == meaning;
        });
    };
    EXPECT_TRUE(has(u"outside the allocator"_s, Meaning::kOutside));
    EXPECT_TRUE(has(u"theory: peak within the allocator"_s, Meaning::kTheory));
    EXPECT_TRUE(has(u"reserved by the allocator"_s, Meaning::kReserved));
    for (const auto& row : memoryRows(*worstRank(*wholePart(m_recording)))) {
        if (row[0].text != u"outside the allocator"_s) continue;
        EXPECT_EQ(row[2].text, unknownText());
        EXPECT_EQ(row[3].text, unknownText());
        EXPECT_TRUE(row[2].tip.contains(u"theory does not include"_s));
    }
}

TEST_F(GpuRecordingTest, ReservedMemoryLiesOverTheStack) {
    ASSERT_NO_FATAL_FAILURE(open());
    const MemoryQuery query{m_recording->bounds(), 300, ranksByPeak(*wholePart(m_recording))};
    const auto frame = loadMemory(*m_reader, *m_recording, query, {});
    ASSERT_TRUE(frame);
    ASSERT_FALSE((*frame)->ranks.empty());
    for (const MemoryColumns& columns : (*frame)->ranks) {
        ASSERT_EQ(columns.reserved.size(), columns.size());
        const auto& outside =
            columns.categories[static_cast<std::size_t>(MemoryCategory::kOutside)];
        for (std::size_t i = columns.size() / 2; i < columns.size(); ++i)
            EXPECT_GE(columns.reserved[i], columns.total(i) - outside[i]);
    }
}

TEST_F(GpuRecordingTest, CpuRanksHaveNoneOfIt) {
    const std::string path = m_folder.file("cpu.sscope");
    ASSERT_TRUE(test::writeSampleRecording(path, {}));
    auto reader = storage::openRecording(path);
    ASSERT_TRUE(reader);
    const auto recording = loadRecording(**reader, {});
    ASSERT_TRUE(recording);
    EXPECT_TRUE(deviceRows(*wholePart(*recording)).empty());
    EXPECT_TRUE(deviceTimeNote(*wholePart(*recording)).isEmpty());
    EXPECT_EQ(findReservedLane((*recording)->summary), nullptr);
    EXPECT_EQ(worstRank(*wholePart(*recording))->managed(),
              worstRank(*wholePart(*recording))->peak);
    EXPECT_FALSE(memoryHeadline(*wholePart(*recording)).contains(u"outside"_s));
    for (const LaneRow& row : layOutLanes((*recording)->summary, {}).rows)
        EXPECT_NE(row.kind, LaneRow::Kind::kGroup);
}

TEST(GpuRunForm, SaysWhatTheCommandLineSaysInItsOwnWords) {
    run::RunConfig config;
    config.precision = run::Precision::kTf32;
    EXPECT_EQ(predict(config, {{}, 2, {1LL << 34}, {1LL << 34}}).problem,
              u"“Precision” tf32 exists on GPUs only; use “Precision” fp32, or “Device” cuda."_s);
    config.device = run::Device::kCuda;
    config.shareDevice = true;
    const RunPrediction cuda = predict(config, {{}, 2, {1LL << 34}, {1LL << 34}});
    EXPECT_TRUE(cuda.problem.isEmpty()) << cuda.problem.toStdString();
    EXPECT_TRUE(cuda.warning.contains(u"take turns"_s));
    EXPECT_TRUE(cuda.headline.contains(u"GPU"_s)) << "host memory is not what limits it";
    EXPECT_TRUE(cuda.commandLine.contains(u"--share-device"_s));
}

TEST_F(GpuRecordingTest, SaysThatNothingStandsOutOnlyWhereItCanTell) {
    open();
    const auto recording = std::make_shared<OpenRecording>(*m_recording);
    const PartPtr part = wholePart(recording);
    analysis::Report& report = recording->report;
    report.findings.clear();
    report.diagnostics.clear();
    report.judged = {true, {"memory: no memory events are recorded"}};
    ASSERT_TRUE(findings(*part).empty()) << findings(*part).front().title.toStdString();
    EXPECT_THAT(verdicts(*part), ElementsAre(u"Nothing stands out."_s,
                                             u"Unknown: memory: no memory events are recorded"_s));
    report.judged.enough = false;
    EXPECT_THAT(verdicts(*part), ElementsAre(u"Unknown: memory: no memory events are recorded"_s));
    report.judged = {true, {}};
    report.findings.emplace_back();
    EXPECT_THAT(verdicts(*part), ::testing::IsEmpty());
}

}  // namespace
}  // namespace shardscope::desktop
