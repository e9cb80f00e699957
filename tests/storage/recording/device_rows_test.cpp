// What GPU ranks add to a recording: devices, kernels, energy, collectives without arrivals.
#include "storage/columns/chunk.h"
#include "storage/model/rank_facts.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/write/recording_writer.h"
#include "storage/sqlite/connection.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shardscope::storage {
namespace {

using test::IsOk;

constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};
constexpr LaneId kStream = lanes::kStreams.at(0), kNcclStream = lanes::kStreams.at(1),
                 kEnergy = lanes::kNvmlCounters.at(1);

class DeviceRows : public testing::Test {
protected:
    RecordingWriter writer(std::int32_t ranks) {
        RunFacts run;
        run.id = "run";
        run.worldSize = ranks;
        return RecordingWriter::create(path, run, false).value();
    }
    std::unique_ptr<RecordingReader> finish(RecordingWriter& writer) {
        EXPECT_THAT(writer.finalise(RunStatus::kFinished, {1000}), IsOk());
        return openRecording(path).value();
    }

    test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
};

CollectiveEvent gather(std::uint64_t sequence, std::int64_t start, std::int64_t end) {
    CollectiveEvent event;
    event.operation = CollectiveOp::kAllGather;
    event.sequence = sequence;
    event.step = {0};
    event.issue = {start};
    event.start = {start};
    event.end = {end};
    return event;
}

SpanEvent span(LaneId lane, std::int64_t start, std::uint64_t correlation) {
    SpanEvent event;
    event.start = {start};
    event.duration = {10};
    event.lane = lane;
    event.correlation = correlation;
    return event;
}

TEST_F(DeviceRows, DevicesComeBackAsTheyWere) {
    RecordingWriter recording = writer(2);
    DeviceFacts device;
    device.rank = RankId{1};
    device.name = "NVIDIA H200";
    device.uuid = "GPU-1";
    device.pciBusId = "0000:17:00.0";
    device.memory = {150'754'820'096};
    device.driver = "580.159.04";
    device.sharedBy = 2;
    device.mig = true;
    device.attention = "cudnn";
    device.tracing = "CUPTI 130001";
    device.vendorPeak = 989e12;
    device.vendorPeakSource = "data sheet";
    device.measuredPeakSource = "not measured";
    device.clockErrorNs = 4200;
    DeviceFacts earlier;
    earlier.rank = RankId{1};
    ASSERT_THAT(recording.putDevice(earlier), IsOk());
    ASSERT_THAT(recording.putDevice(device), IsOk());  // replaces it
    const auto summary = finish(recording)->summary().value();
    ASSERT_EQ(summary.devices.size(), 1u);
    const DeviceFacts& back = summary.devices[0];
    EXPECT_EQ(back.rank, device.rank);
    EXPECT_EQ(back.name, device.name);
    EXPECT_EQ(back.uuid, device.uuid);
    EXPECT_EQ(back.pciBusId, device.pciBusId);
    EXPECT_EQ(back.memory, device.memory);
    EXPECT_EQ(back.driver, device.driver);
    EXPECT_EQ(back.sharedBy, 2);
    EXPECT_TRUE(back.mig);
    EXPECT_EQ(back.attention, "cudnn");
    EXPECT_EQ(back.tracing, "CUPTI 130001");
    EXPECT_EQ(back.vendorPeak, 989e12);
    EXPECT_EQ(back.vendorPeakSource, "data sheet");
    EXPECT_FALSE(back.measuredPeak.has_value());
    EXPECT_EQ(back.measuredPeakSource, "not measured");
    EXPECT_EQ(back.clockErrorNs, 4200);
}

TEST_F(DeviceRows, ARecordingOfFormat10HasNone) {
    {
        RecordingWriter recording = writer(1);
        finish(recording);
    }
    {
        auto connection = Connection::open(path, Connection::Mode::kCreate).value();
        ASSERT_THAT(connection.execute("DROP TABLE devices; PRAGMA user_version=1000"), IsOk());
    }
    const auto summary = openRecording(path).value()->summary();
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_TRUE(summary->devices.empty());
}

TEST_F(DeviceRows, KernelsAreNoPhases) {
    RecordingWriter recording = writer(1);
    ASSERT_THAT(recording.addLane({{}, lanes::kPhases.id, LaneRole::kCompute, "compute", "", 1}),
                IsOk());
    ASSERT_THAT(recording.addLane({{}, kStream, LaneRole::kCompute, "stream 7", "", 2}), IsOk());
    ASSERT_THAT(
        recording.addLane({{}, kNcclStream, LaneRole::kCommunication, "stream 7: NCCL", "", 3}),
        IsOk());
    ASSERT_THAT(recording.addLane({{}, {3}, LaneRole::kCommunication, "communication", "", 4}),
                IsOk());
    ASSERT_THAT(recording.addLane({{}, kEnergy, LaneRole::kCounter, "energy", "J", 5}), IsOk());
    const std::vector<SpanEvent> spans = {span(lanes::kPhases.id, 0, 0), span(kStream, 2, 77),
                                          span(kNcclStream, 5, 0), span({3}, 5, 1)};
    ASSERT_THAT(recording.addChunk(columns::encodeSpans({}, spans)), IsOk());
    const std::vector<CounterEvent> samples = {{{1}, kEnergy, 5.5}, {{9}, kEnergy, 6.5}};
    ASSERT_THAT(recording.addChunk(columns::encodeCounters({}, samples)), IsOk());
    const auto events = finish(recording)->rankEvents({}, kEverything).value();
    EXPECT_THAT(events.phases, testing::ElementsAre(spans[0]));
    EXPECT_THAT(events.computeKernels, testing::ElementsAre(spans[1].range()));
    EXPECT_THAT(events.communicationKernels, testing::ElementsAre(spans[2].range()));
    EXPECT_THAT(events.energy, testing::ElementsAreArray(samples));
}

TEST_F(DeviceRows, PeersArriveWhenTheirOwnRowsStart) {
    RecordingWriter recording = writer(2);
    const std::vector<CollectiveEvent> first = {gather(1, 100, 200), gather(2, 300, 400)};
    const std::vector<CollectiveEvent> second = {gather(1, 150, 201), gather(2, 290, 399)};
    ASSERT_THAT(recording.addChunk(columns::encodeCollectives(RankId{0}, first)), IsOk());
    ASSERT_THAT(recording.addChunk(columns::encodeCollectives(RankId{1}, second)), IsOk());
    auto reader = finish(recording);
    for (const RankId rank : {RankId{0}, RankId{1}}) {
        const auto events = reader->rankEvents(rank, kEverything).value();
        ASSERT_EQ(events.collectives.size(), 2u);
        EXPECT_THAT(events.collectives[0].arrivals,
                    testing::ElementsAre(Timestamp{100}, Timestamp{150}));
        EXPECT_THAT(events.collectives[1].arrivals,
                    testing::ElementsAre(Timestamp{300}, Timestamp{290}));
        EXPECT_EQ(events.collectives[0].lastArrival(), Timestamp{150});
    }
}

/// Ranks 0 and 2 form group 7 over two hosts; ranks 2 and 3 form group 8 on one, as programs do.
TEST_F(DeviceRows, PeersOfAGroupArriveWhenTheirOwnRowsStart) {
    RecordingWriter recording = writer(4);
    const auto put = [&](std::uint32_t rank, std::int32_t host, std::uint32_t group,
                         std::int64_t start) {
        RankFacts facts;
        facts.rank = RankId{rank};
        facts.host = host;
        ASSERT_THAT(recording.putRank(facts), IsOk());
        std::vector<CollectiveEvent> own = {gather(1, start, 900)};
        own[0].group = group;
        ASSERT_THAT(recording.addChunk(columns::encodeCollectives(RankId{rank}, own)), IsOk());
    };
    put(0, 0, 7, 100);
    put(2, 1, 7, 150);
    put(2, 1, 8, 200);
    put(3, 1, 8, 250);
    auto reader = finish(recording);
    const auto first = reader->rankEvents(RankId{0}, kEverything).value();
    ASSERT_EQ(first.collectives.size(), 1u);
    EXPECT_THAT(first.collectives[0].arrivals,
                testing::ElementsAre(Timestamp{100}, Timestamp{150}));
    const auto third = reader->rankEvents(RankId{3}, kEverything).value();
    ASSERT_EQ(third.collectives.size(), 1u);
    EXPECT_THAT(third.collectives[0].arrivals,
                testing::ElementsAre(Timestamp{200}, Timestamp{250}));
}

/// Longer than what is looked at together, and with rows that a rank lacks all over it.
TEST_F(DeviceRows, PeersOfALongRunArriveWhenTheirOwnRowsStart) {
    constexpr std::uint64_t kLong = 20'000, kLackedByFirst = 97, kLackedBySecond = 4'096;
    RecordingWriter recording = writer(2);
    for (const std::uint32_t rank : {0u, 1u}) {
        const std::uint64_t lacked = rank == 0 ? kLackedByFirst : kLackedBySecond;
        std::vector<CollectiveEvent> own;
        for (std::uint64_t sequence = 1; sequence <= kLong; ++sequence) {
            const auto start = static_cast<std::int64_t>(sequence * 100 + rank * 10);
            if (sequence % lacked != 0) own.push_back(gather(sequence, start, start + 50));
        }
        ASSERT_THAT(recording.addChunk(columns::encodeCollectives(RankId{rank}, own)), IsOk());
    }
    auto reader = finish(recording);
    for (const std::uint32_t rank : {1u, 0u}) {
        const auto events = reader->rankEvents(RankId{rank}, kEverything);
        ASSERT_THAT(events, IsOk());
        for (const CollectiveEvent& event : events->collectives) {
            const bool isLacked =
                event.sequence % kLackedByFirst == 0 || event.sequence % kLackedBySecond == 0;
            const Timestamp first{static_cast<std::int64_t>(event.sequence * 100)};
            ASSERT_EQ(event.arrivals,
                      isLacked ? Arrivals() : Arrivals({first, first + Duration{10}}))
                << event.sequence;
        }
    }
}

TEST_F(DeviceRows, WithoutEveryPeersRowNobodyWasLast) {
    RecordingWriter recording = writer(3);
    const std::vector<CollectiveEvent> own = {gather(1, 100, 200)};
    ASSERT_THAT(recording.addChunk(columns::encodeCollectives(RankId{0}, own)), IsOk());
    ASSERT_THAT(recording.addChunk(columns::encodeCollectives(RankId{2}, own)), IsOk());
    const auto events = finish(recording)->rankEvents(RankId{0}, kEverything).value();
    ASSERT_EQ(events.collectives.size(), 1u);
    EXPECT_TRUE(events.collectives[0].arrivals.empty());
}

}  // namespace
}  // namespace shardscope::storage
