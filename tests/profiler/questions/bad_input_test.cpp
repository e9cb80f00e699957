// Every question asked of recordings that nothing healthy writes: each answer is sound or says what
// cannot be told.
#include "profiler/questions/question.h"
#include "storage/columns/chunk.h"
#include "storage/model/host_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/write/recording_writer.h"
#include "tests/profiler/questions/sound.h"
#include "tests/support/random_events.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace shardscope::questions {
namespace {

/// What is wrong with a recording; several at once.
struct Faults {
    std::int32_t worldSize = 2;
    std::vector<std::uint32_t> ranks{0, 1};  ///< that are recorded
    std::int32_t steps = 8;
    bool shorter = false;  ///< the second rank ends after half of the steps
    bool collectives = true;
    bool phases = true;
    bool device = false;
    bool zeroLength = false;   ///< every third span and collective
    bool overlapping = false;  ///< spans on one lane, steps too
    bool jumps = false;        ///< the clock goes back by three steps in the middle
    bool notFinite = false;    ///< losses
    bool finalise = true;
};

constexpr std::int64_t kStep = 1'000'000;

class FaultyRecording {
public:
    FaultyRecording(storage::RecordingWriter& writer, const Faults& faults, std::uint64_t seed)
        : m_writer(writer), m_faults(faults), m_random(seed) {}

    void write() {
        ASSERT_THAT(m_writer.addHost({}), test::IsOk());
        for (const std::uint32_t rank : m_faults.ranks) {
            declare({rank});
            for (std::int32_t step = 0; step < stepsOf(rank); ++step) add({rank}, step);
            send({rank});
        }
        ASSERT_THAT(m_writer.flush(), test::IsOk());
    }

private:
    std::int32_t stepsOf(std::uint32_t rank) const {
        return m_faults.shorter && rank == 1 ? m_faults.steps / 2 : m_faults.steps;
    }

    void declare(RankId rank) {
        RankFacts facts;
        facts.rank = rank;
        ASSERT_THAT(m_writer.putRank(facts), test::IsOk());
        const auto add = [&](LaneId lane, LaneRole role, const char* name) {
            ASSERT_THAT(m_writer.addLane({rank, lane, role, name, "", 0}), test::IsOk());
        };
        add(lanes::kPhases.id, LaneRole::kCompute, "compute");
        add(lanes::kOperators.id, LaneRole::kHost, "operators");
        add(lanes::kStreams.at(0), LaneRole::kCompute, "stream 7");
        add(lanes::kStreams.at(1), LaneRole::kCommunication, "stream 20");
        add(lanes::kStreams.at(2), LaneRole::kCopy, "stream 24");
        add(lanes::kCalls.at(0), LaneRole::kRuntime, "CUDA calls");
        ASSERT_THAT(m_writer.addStrings(rank, {1}, {"first", "second", "ncclDevKernel", "call"}),
                    test::IsOk());
    }

    std::int64_t timeOf(std::int32_t step) const {
        const bool back = m_faults.jumps && step >= m_faults.steps / 2;
        return 10 * kStep + (back ? step - 3 : step) * kStep;
    }

    Duration lengthOf(std::int64_t most) {
        if (m_faults.zeroLength && m_random.between(0, 2) == 0) return {};
        return {m_random.between(1, m_faults.overlapping ? 3 * most : most)};
    }

    void addSpan(LaneId lane, std::int64_t at, std::int64_t length, Phase phase, std::int32_t step,
                 std::uint64_t correlation = 0) {
        SpanEvent span;
        span.start = {at};
        span.duration = lengthOf(length);
        span.lane = lane;
        span.name = {static_cast<std::uint32_t>(m_random.between(1, 4))};
        span.correlation = correlation;
        span.step = {step};
        span.phase = phase;
        m_spans.push_back(span);
    }

    void add(RankId rank, std::int32_t index) {
        const std::int64_t begin = timeOf(index);
        StepFacts step;
        step.rank = rank;
        step.step = {index};
        step.start = {begin};
        step.end = {begin + (m_faults.overlapping ? 2 : 1) * kStep};
        step.tokens = m_random.between(0, 1) * 512;
        ASSERT_THAT(m_writer.addStep(step), test::IsOk());
        for (std::int64_t piece = 0; piece < 10; ++piece) {
            const std::int64_t at = begin + piece * kStep / 10, most = kStep / 10;
            const auto number = static_cast<std::uint64_t>(index * 10 + piece + 1);
            if (m_faults.phases)
                addSpan(lanes::kPhases.id, at, most, static_cast<Phase>(m_random.between(1, 16)),
                        index);
            addSpan(lanes::kOperators.id, at, most, Phase::kForward, index);
            if (m_faults.device) addWork(at, most, index, number);
            if (m_faults.collectives) addCollective(at, most, index, number);
        }
        if (rank.value == 0) addLoss(index, step.end);
    }

    void addWork(std::int64_t at, std::int64_t most, std::int32_t step, std::uint64_t number) {
        // Launches may be missing, or lie behind what they launched.
        if (m_random.between(0, 3) != 0)
            addSpan(lanes::kCalls.at(0), at + m_random.between(-most, most), most / 10,
                    Phase::kNone, step, number);
        for (std::size_t stream = 0; stream < 3; ++stream)
            addSpan(lanes::kStreams.at(stream), at + m_random.between(0, most), most / 2,
                    Phase::kNone, step, number);
    }

    void addCollective(std::int64_t at, std::int64_t most, std::int32_t step,
                       std::uint64_t number) {
        CollectiveEvent event;
        event.operation = static_cast<CollectiveOp>(m_random.between(0, 4));
        event.cause = static_cast<Cause>(m_random.between(0, 8));
        event.step = {step};
        event.sequence = number;
        event.size =
            m_random.between(0, 3) == 0 ? kUnknownSize : Bytes{m_random.between(0, 1 << 20)};
        event.issue = {m_random.between(0, 1) == 0 ? 0 : at - m_random.between(0, most)};
        event.start = {at};
        event.end = event.start + lengthOf(most);
        m_collectives.push_back(std::move(event));
    }

    void addLoss(std::int32_t step, Timestamp time) {
        double loss = 4 - 0.1 * step;
        if (m_faults.notFinite && step % 3 == 1) loss = std::nan("");
        if (m_faults.notFinite && step % 3 == 2) loss = std::numeric_limits<double>::infinity();
        ASSERT_THAT(m_writer.addMetric({"loss", {step}, time, loss}), test::IsOk());
    }

    void send(RankId rank) {
        std::stable_sort(m_spans.begin(), m_spans.end(),
                         [](const auto& a, const auto& b) { return a.start < b.start; });
        std::stable_sort(m_collectives.begin(), m_collectives.end(),
                         [](const auto& a, const auto& b) { return a.start < b.start; });
        if (!m_spans.empty()) {
            ASSERT_THAT(m_writer.addChunk(columns::encodeSpans(rank, m_spans)), test::IsOk());
        }
        if (!m_collectives.empty()) {
            ASSERT_THAT(m_writer.addChunk(columns::encodeCollectives(rank, m_collectives)),
                        test::IsOk());
        }
        m_spans.clear();
        m_collectives.clear();
    }

    storage::RecordingWriter& m_writer;
    Faults m_faults;
    test::RandomEvents m_random;
    std::vector<SpanEvent> m_spans;
    std::vector<CollectiveEvent> m_collectives;
};

class BadInput : public testing::Test {
protected:
    void expectSoundAnswers(const Faults& faults, std::uint64_t seed) {
        const std::string path = m_folder.file("bad.sscope");
        RunFacts run;
        run.id = "bad";
        run.worldSize = faults.worldSize;
        {
            auto writer = storage::RecordingWriter::create(path, run, true);
            ASSERT_THAT(writer, test::IsOk());
            FaultyRecording(*writer, faults, seed).write();
            if (faults.finalise) {
                ASSERT_THAT(writer->finalise(RunStatus::kFinished, {20 * kStep}), test::IsOk());
            }
        }
        const auto reader = storage::openRecording(path);
        ASSERT_THAT(reader, test::IsOk());
        const auto summary = (*reader)->summary();
        ASSERT_THAT(summary, test::IsOk());
        for (const Question& question : allQuestions()) {
            const Selection all;
            Asked asked{**reader, *summary, all};
            asked.perStep = asked.explain = true;
            const auto answer = answerTo(question, asked);
            ASSERT_THAT(answer, test::IsOk()) << question.key;
            SCOPED_TRACE(testing::Message() << question.key << ", seed " << seed);
            test::expectSound(*answer);
        }
    }
    test::TemporaryFolder m_folder;
};

TEST_F(BadInput, NothingAtAll) {
    expectSoundAnswers({.worldSize = 0, .ranks = {}, .steps = 0}, 1);
    expectSoundAnswers({.steps = 0}, 2);
    expectSoundAnswers({.steps = 0, .finalise = false}, 3);
}

TEST_F(BadInput, OneStep) {
    expectSoundAnswers({.steps = 1}, 1);
    expectSoundAnswers({.steps = 1, .device = true}, 2);
}

TEST_F(BadInput, NoCollectivesNoPhases) {
    expectSoundAnswers({.collectives = false}, 1);
    expectSoundAnswers({.phases = false}, 2);
    expectSoundAnswers({.collectives = false, .phases = false, .device = true}, 3);
}

TEST_F(BadInput, ARankIsMissing) {
    expectSoundAnswers({.worldSize = 4, .ranks = {0, 3}}, 1);
    expectSoundAnswers({.ranks = {1}}, 2);
    expectSoundAnswers({.worldSize = 4, .ranks = {0, 3}, .device = true}, 3);
}

TEST_F(BadInput, RanksOfDifferentLengths) {
    expectSoundAnswers({.shorter = true}, 1);
    expectSoundAnswers({.shorter = true, .device = true, .finalise = false}, 2);
}

TEST_F(BadInput, ClocksThatJump) {
    expectSoundAnswers({.jumps = true}, 1);
    expectSoundAnswers({.device = true, .jumps = true}, 2);
}

TEST_F(BadInput, EventsWithoutLengthOrOverEachOther) {
    expectSoundAnswers({.zeroLength = true}, 1);
    expectSoundAnswers({.overlapping = true}, 2);
    expectSoundAnswers({.device = true, .zeroLength = true, .overlapping = true}, 3);
}

TEST_F(BadInput, LossesThatAreNoNumbers) {
    expectSoundAnswers({.steps = 30, .notFinite = true}, 1);
}

TEST_F(BadInput, AllOfItAtOnce) {
    test::RandomEvents random(9);
    const auto coin = [&] { return random.between(0, 1) == 1; };
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        Faults faults;
        faults.worldSize = static_cast<std::int32_t>(random.between(0, 4));
        faults.ranks.clear();
        for (std::uint32_t rank = 0; rank < 4; ++rank)
            if (coin()) faults.ranks.push_back(rank);
        faults.steps = static_cast<std::int32_t>(random.between(0, 20));
        faults.shorter = coin();
        faults.collectives = coin();
        faults.phases = coin();
        faults.device = coin();
        faults.zeroLength = coin();
        faults.overlapping = coin();
        faults.jumps = coin();
        faults.notFinite = coin();
        faults.finalise = coin();
        expectSoundAnswers(faults, seed);
    }
}

}  // namespace
}  // namespace shardscope::questions
