// Detail of the steps around slow ones, and of no others.
#include "storage/recording/write/slow_steps.h"

#include "storage/columns/chunk.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"
#include "storage/recording/verify/verify_recording.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <set>

namespace shardscope::storage {
namespace {

using test::IsOk;

constexpr LaneId kOperators{2};
constexpr TimeRange kEverything{{-(std::int64_t{1} << 60)}, {std::int64_t{1} << 60}};
constexpr std::int64_t kMs = 1'000'000;

/// Two ranks, steps of 10 ms, of which some are slow; chunks of 25 ms that know no steps.
class SlowRun {
public:
    SlowRun(const std::string& path, std::size_t mostBytes = SlowSteps::kMostBytes,
            Duration window = {}) {
        RunFacts run;
        run.id = "0123456789abcdef0123456789abcdef";
        run.configJson = "{}";
        run.worldSize = 2;
        auto writer = RecordingWriter::create(path, run, true);
        EXPECT_THAT(writer, IsOk());
        m_writer.emplace(std::move(*writer));
        if (window.ns > 0)
            m_slow.emplace(*m_writer, 1.5, window, mostBytes);
        else
            m_slow.emplace(*m_writer, 1.5, 2, mostBytes);
        EXPECT_THAT(m_writer->addHost({0, "host", "cpu", 2, {1 << 30}, "boot", 0, 0}), IsOk());
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
            putRank(rank);
            EXPECT_THAT(m_writer->addLane({{rank}, kOperators, LaneRole::kHost, "ops", "", 0}),
                        IsOk());
            EXPECT_THAT(m_writer->addStrings({rank}, {1}, {"something"}), IsOk());
            // Parameters, long before the first step.
            allocate(rank, {1}, {8'000'000}, kNoStep);
            send(rank);
        }
    }

    void step(std::int64_t ms) {
        const std::int64_t start = m_now;
        m_now += ms * kMs;
        for (std::uint32_t rank = 0; rank < 2; ++rank) {
            for (int i = 0; i < 10; ++i) {
                SpanEvent event;
                event.start = {start + i * ms * kMs / 10 + rank};
                event.duration = {ms * kMs / 20};
                event.lane = kOperators;
                event.name = {1};
                event.step = {m_step};
                m_spans[rank].push_back(event);
            }
            allocate(rank, {start + kMs}, {1'000}, {m_step});
            free(rank, {start + 2 * kMs}, m_memory[rank].back());
            // One block lives until the step after.
            allocate(rank, {start + 3 * kMs}, {50'000}, {m_step});
            const MemoryEvent longer = m_memory[rank].back();
            if (m_longer[rank].address != 0) free(rank, {start + 4 * kMs}, m_longer[rank]);
            m_longer[rank] = longer;
            StepFacts facts;
            facts.rank = {rank};
            facts.step = {m_step};
            facts.start = {start};
            facts.end = {m_now};
            EXPECT_THAT(m_writer->addStep(facts), IsOk());
            EXPECT_THAT(m_slow->stepDone(facts), IsOk());
            if (m_step % 3 == 2) send(rank);
        }
        ++m_step;
    }

    /// What rank 1 kept back since then.
    void late(std::int32_t step) {
        SpanEvent event;
        event.start = {1'000 * kMs};
        event.lane = kOperators;
        event.name = {1};
        event.step = {step};
        m_spans[1].push_back(event);
        send(1);
    }

    void finish() {
        for (std::uint32_t rank = 0; rank < 2; ++rank) send(rank);
        ASSERT_THAT(m_slow->finish(), IsOk());
        for (std::uint32_t rank = 0; rank < 2; ++rank) putRank(rank);
        ASSERT_THAT(m_writer->finalise(RunStatus::kFinished, {m_now}), IsOk());
    }
    void keep() { m_slow->keep(); }
    [[nodiscard]] std::uint64_t squeezedOut() const { return m_slow->squeezedOut(); }

private:
    void putRank(std::uint32_t rank) {
        RankFacts facts;
        facts.rank = {rank};
        facts.peakSource = "none";
        facts.emitted = m_emitted[rank];
        EXPECT_THAT(m_writer->putRank(facts), IsOk());
    }
    void allocate(std::uint32_t rank, Timestamp time, Bytes size, StepIndex step) {
        MemoryEvent event;
        event.time = time;
        event.address = m_address += 64;
        event.size = size;
        event.owner = {1};
        event.step = step;
        m_memory[rank].push_back(event);
    }
    void free(std::uint32_t rank, Timestamp time, MemoryEvent event) {
        event.time = time;
        event.action = MemoryAction::kFree;
        event.step = {m_step};
        m_memory[rank].push_back(event);
    }
    void send(std::uint32_t rank) {
        m_emitted[rank] += m_spans[rank].size() + m_memory[rank].size();
        if (!m_spans[rank].empty()) {
            EXPECT_THAT(m_slow->add({rank}, columns::encodeSpans({rank}, m_spans[rank])), IsOk());
        }
        if (!m_memory[rank].empty()) {
            EXPECT_THAT(m_slow->add({rank}, columns::encodeMemory({rank}, m_memory[rank])), IsOk());
        }
        m_spans[rank].clear();
        m_memory[rank].clear();
    }

    std::optional<RecordingWriter> m_writer;
    std::optional<SlowSteps> m_slow;
    std::vector<SpanEvent> m_spans[2];
    std::vector<MemoryEvent> m_memory[2];
    MemoryEvent m_longer[2];
    std::uint64_t m_emitted[2] = {0, 0};
    std::uint64_t m_address = 4096;
    std::int64_t m_now = 1'000 * kMs;
    std::int32_t m_step = 0;
};

struct Read {
    std::set<std::int32_t> withDetail;
    RecordingSummary summary;
    Bytes alive, peak;
};

Read read(const std::string& path) {
    Read result;
    const auto found = verifyRecording(path);
    EXPECT_THAT(found, IsOk());
    for (const Fault& fault : found->faults) ADD_FAILURE() << fault.where << ": " << fault.what;
    auto reader = openRecording(path);
    EXPECT_THAT(reader, IsOk());
    result.summary = *(*reader)->summary();
    const auto spans = (*reader)->spans({1}, kOperators, kEverything);
    for (const SpanEvent& span : *spans) result.withDetail.insert(span.step.value);
    const auto alive = (*reader)->liveMemory({1}, {std::int64_t{1} << 60});
    for (const MemoryEvent& block : *alive) result.alive += block.size;
    result.peak = (*reader)->rankEvents({1}, kEverything)->peakMemory;
    return result;
}

TEST(SlowSteps, OnlyTheyAndTheirNeighboursHaveDetail) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    SlowRun run(path);
    for (int i = 0; i < 40; ++i) run.step(i == 17 || i == 30 ? 16 : 10);
    run.finish();
    const Read found = read(path);
    EXPECT_EQ(found.withDetail, (std::set<std::int32_t>{16, 17, 18, 29, 30, 31}));
    EXPECT_EQ(found.summary.steps.size(), 80u);
    // Sums are right where they are kept: parameters, and the blocks that pass from step to step.
    EXPECT_EQ(found.alive.count, 8'050'000);
    EXPECT_EQ(found.peak.count, 8'100'000);
    const StepDetail detail(found.summary.detail);
    for (std::int32_t step = 0; step < 40; ++step)
        EXPECT_EQ(detail.of({0}, {step}) == CaptureLevel::kFull, found.withDetail.contains(step))
            << step;
    std::uint64_t removed = 0;
    for (const DetailFacts& facts : found.summary.detail) removed += facts.removed.value_or(0);
    std::uint64_t emitted = 0;
    for (const RankFacts& rank : found.summary.ranks) emitted += rank.emitted;
    EXPECT_EQ(removed + found.summary.events.total(), emitted);
}

TEST(SlowSteps, NoneIsSlowWhereAllAreAlike) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    SlowRun run(path);
    for (int i = 0; i < 30; ++i) run.step(10 + i % 3);
    run.finish();
    EXPECT_TRUE(read(path).withDetail.empty());
}

/// The run's last step has none after it, and its first steps nothing before them.
TEST(SlowSteps, TheLastOneMayBeSlow) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    SlowRun run(path);
    for (int i = 0; i < 20; ++i) run.step(i == 0 || i == 19 ? 30 : 10);
    run.finish();
    EXPECT_EQ(read(path).withDetail, (std::set<std::int32_t>{18, 19}));
}

TEST(FlightRecorder, KeepsWhatWasBeforeSomethingHappened) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    SlowRun run(path, SlowSteps::kMostBytes, {50 * kMs});
    for (int i = 0; i < 60; ++i) {
        run.step(i == 40 ? 30 : 10);
        if (i == 20) run.keep();
    }
    run.finish();
    const Read found = read(path);
    // Five steps of 10 ms, and one beside them at each end; likewise before the slow one.
    for (const std::int32_t kept : {15, 16, 17, 18, 19, 20, 21, 35, 36, 37, 38, 39, 40, 41})
        EXPECT_TRUE(found.withDetail.contains(kept)) << kept;
    for (const std::int32_t left : {0, 5, 12, 25, 30, 33, 45, 50, 59})
        EXPECT_FALSE(found.withDetail.contains(left)) << left;
    EXPECT_EQ(found.summary.steps.size(), 120u);
    EXPECT_EQ(found.alive.count, 8'050'000);
    for (const DetailFacts& facts : found.summary.detail)
        EXPECT_EQ(facts.reason, DetailReason::kKeepLast);
}

TEST(FlightRecorder, KeepsWhatComesLate) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    SlowRun run(path, SlowSteps::kMostBytes, {50 * kMs});
    for (int i = 0; i < 240; ++i) {
        run.step(i == 20 ? 30 : 10);
        if (i == 200) run.late(20);
    }
    run.finish();
    EXPECT_EQ(StepDetail(read(path).summary.detail).of({1}, {20}), CaptureLevel::kFull);
}

TEST(FlightRecorder, KeepsNothingOfAHealthyRun) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    SlowRun run(path, SlowSteps::kMostBytes, {50 * kMs});
    for (int i = 0; i < 30; ++i) run.step(10);
    run.finish();
    EXPECT_TRUE(read(path).withDetail.empty());
}

TEST(SlowSteps, WhatWaitsIsBoundedAndSaid) {
    const test::TemporaryFolder folder;
    const std::string path = folder.file("run.sscope");
    SlowRun run(path, 500);
    for (int i = 0; i < 20; ++i) run.step(i == 10 ? 20 : 10);
    run.finish();
    EXPECT_GT(run.squeezedOut(), 0u);
    EXPECT_EQ(read(path).summary.steps.size(), 40u);
}

}  // namespace
}  // namespace shardscope::storage
