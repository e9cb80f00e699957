#include "tests/support/program_recording.h"

#include "engine/run/config/program_run.h"
#include "storage/model/host_facts.h"
#include "storage/model/lanes.h"
#include "storage/model/process_facts.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/write/recording_writer.h"
#include "tests/support/sample_rank.h"

#include <algorithm>
#include <vector>

namespace shardscope::test {
namespace {

using storage::RecordingWriter;

constexpr std::int64_t kMs = 1'000'000;
/// Backward comes first of them, so that what is not hidden is waited for.
constexpr std::int64_t kForward = 20 * kMs, kBackward = 30 * kMs, kMoving = 10 * kMs,
                       kOptimizer = 5 * kMs;

RunFacts runOf(const ProgramOptions& options) {
    RunFacts run;
    run.id = "0123456789abcdef0123456789abcdef";
    run.configJson =
        run::toJson(run::ProgramRun{{"python", options.command}, "/home/user", options.capture});
    run.commandLine = "shardscope record -- python " + options.command;
    run.product = "shardscope test";
    run.worldSize = std::max(options.ranks, 1);
    run.parameters = options.parameters;
    return run;
}

Result<void> putRanks(RecordingWriter& writer, const ProgramOptions& options) {
    if (auto done =
            writer.addHost({0, "localhost", "sample CPU", 2, Bytes{8'000'000'000}, "boot", 0, 0});
        !done)
        return done;
    for (std::uint32_t r = 0; r < static_cast<std::uint32_t>(std::max(options.ranks, 1)); ++r) {
        RankFacts rank;
        rank.rank = RankId{r};
        rank.pid = 4242 + r;
        rank.device = options.ranks == 0 ? "no rank: the program as a whole" : "cpu";
        rank.exitCode = 0;
        if (auto done = writer.putRank(rank); !done) return done;
        for (const LaneFacts& lane :
             {LaneFacts{RankId{r}, lanes::kPhases.id, LaneRole::kCompute, "compute", "", 0},
              LaneFacts{RankId{r}, lanes::kCommunication.id, LaneRole::kCommunication,
                        "communication", "", 1}})
            if (auto done = writer.addLane(lane); options.ranks > 0 && !done) return done;
    }
    return {};
}

Result<void> putProcesses(RecordingWriter& writer, const ProgramOptions& options) {
    for (std::int32_t rank = 0; rank < std::max(options.ranks, 1); ++rank) {
        ProcessFacts process;
        process.pid = 4242 + rank;
        process.parent = 1;
        process.role = options.ranks == 0 ? ProcessRole::kProgram : ProcessRole::kRank;
        process.rank = options.ranks == 0 ? -1 : rank;
        process.command = "python " + options.command;
        process.exitCode = 0;
        process.cpuTimeNs = kMs;
        if (auto done = writer.putProcess(process); !done) return done;
    }
    return {};
}

/// A step of all ranks, which end it together.
class Step {
public:
    Step(const ProgramOptions& options, std::int32_t index, Timestamp begin)
        : m_options(options), m_index{index}, m_begin(begin) {
        for (std::int32_t rank = 0; rank < options.ranks; ++rank)
            m_asked.push_back(begin +
                              Duration{options.dataNs + lateOf(rank) + kForward + kBackward});
        m_last = *std::max_element(m_asked.begin(), m_asked.end());
        m_done = m_last + Duration{kMoving};
    }
    [[nodiscard]] Timestamp end() const { return m_done + Duration{kOptimizer}; }

    void fill(SampleRank& rank) const {
        const auto place = static_cast<std::size_t>(rank.id.value);
        if (m_options.capture >= CaptureLevel::kLight) fillPhases(rank, m_asked[place]);
        CollectiveEvent collective;
        collective.step = m_index;
        collective.operation = CollectiveOp::kAllReduce;
        collective.sequence = static_cast<std::uint64_t>(m_index.value) + 1;
        collective.size = Bytes{4'000};
        collective.issue = collective.start = m_asked[place];
        collective.end = m_done;
        collective.arrivals = {m_asked.size(), [&](std::size_t r) { return m_asked[r]; }};
        if (m_options.ranks > 1) rank.collectives.push_back(collective);
    }
    [[nodiscard]] StepFacts facts(std::int32_t rank) const {
        StepFacts facts;
        facts.rank = RankId{static_cast<std::uint32_t>(rank)};
        facts.step = m_index;
        facts.start = m_begin;
        facts.end = end();
        facts.cpuTimeNs = kForward + kBackward + kOptimizer;
        facts.coreWaitNs = 0;
        return facts;
    }

private:
    [[nodiscard]] std::int64_t lateOf(std::int32_t rank) const {
        return rank + 1 == m_options.ranks ? m_options.lateNs : 0;
    }
    void fillPhases(SampleRank& rank, Timestamp backwardEnd) const {
        const Timestamp forwardEnd = backwardEnd - Duration{kBackward};
        add(rank, Phase::kData, m_begin, m_begin + Duration{m_options.dataNs});
        add(rank, Phase::kForward, forwardEnd - Duration{kForward}, forwardEnd);
        add(rank, Phase::kBackward, forwardEnd, backwardEnd);
        add(rank, Phase::kOptimizer, m_done, end());
    }
    void add(SampleRank& rank, Phase phase, Timestamp begin, Timestamp end) const {
        SpanEvent span;
        span.step = m_index;
        span.phase = phase;
        if (begin < end) rank.span(lanes::kPhases.id, toWord(phase), {begin, end}, span);
    }

    const ProgramOptions& m_options;
    StepIndex m_index;
    Timestamp m_begin, m_last, m_done;
    std::vector<Timestamp> m_asked;
};

}  // namespace

Result<void> writeProgramRecording(const std::string& path, const ProgramOptions& options) {
    auto writer = RecordingWriter::create(path, runOf(options), true);
    if (!writer) return failure(writer);
    if (auto done = putRanks(*writer, options); !done) return done;
    std::vector<SampleRank> ranks(static_cast<std::size_t>(options.ranks));
    for (std::size_t r = 0; r < ranks.size(); ++r)
        ranks[r].id = RankId{static_cast<std::uint32_t>(r)};
    Timestamp now{100 * kMs};
    for (std::int32_t index = 0; index < options.steps && options.ranks > 0; ++index) {
        const Step step(options, index, now);
        for (SampleRank& rank : ranks) {
            step.fill(rank);
            if (auto sent = rank.send(*writer); !sent) return sent;
        }
        for (std::int32_t rank = 0; rank < options.ranks; ++rank)
            if (auto done = writer->addStep(step.facts(rank)); !done) return done;
        now = step.end();
    }
    if (auto done = putProcesses(*writer, options); !done) return done;
    return writer->finalise(RunStatus::kFinished, now, storage::Pyramids::kWhereTheyHelp);
}

}  // namespace shardscope::test
