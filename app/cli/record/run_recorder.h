// Writes into the recording what the ranks of a run say, and reports its progress.
//
// Lives on the recorder's only thread, inside RunSupervisor's loop. A recording that cannot be
// written any more (disk full) is said once and ends the run; what was committed stays.
#pragma once

#include "app/cli/record/run_progress.h"
#include "app/cli/record/step_tally.h"
#include "engine/launch/run_supervisor.h"
#include "engine/run/config/run_config.h"
#include "storage/model/rank_facts.h"
#include "storage/model/run_label.h"
#include "storage/recording/write/recording_writer.h"
#include "storage/recording/write/slow_steps.h"

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace shardscope::cli {

/// What a recorder has to know of the run that it records.
struct RecordedRun {
    std::string output;
    CaptureWish capture;
    Duration keepLast{};     ///< 0: all; else what is kept before something happens
    double captureSlow = 0;  ///< as RunConfig has it
    std::int32_t ranks = 0;  ///< 0: as they come
    std::int32_t steps = 0;  ///< 0: unknown
    run::RankPlaces places{};
    std::string whenUnwritable = "the run is stopped";  ///< what happens then
};
[[nodiscard]] RecordedRun recordedRunOf(const run::RunConfig& config);

class RunRecorder : public launch::RunSink {
public:
    RunRecorder(RecordedRun run, std::int64_t originNs, storage::RecordingWriter writer,
                RunProgress& progress);

    /// The run to abandon when the recording cannot be written. Before it runs.
    void attach(launch::RunControl& run) { m_control = &run; }

    void hostReady(const HostFacts& host) override;
    void rankIsOn(RankId rank, std::int32_t host) override { m_hostOf[rank] = host; }
    void clockCompared(const ClockFacts& clock) override;
    void message(RankId rank, const run::Message& message) override;
    void chunk(RankId rank, std::span<const std::byte> bytes) override;
    bool keep() override;
    void backlog(std::int32_t host, const run::Backlog& held) override;
    void tick() override;

    /// Notes how the run ended, in the recording too, and finalises it. `byItself`: what it is
    /// where nothing in `outcome` ended it.
    RunEnd conclude(const launch::RunOutcome& outcome, RunStatus byItself = RunStatus::kFinished);

    void addDiagnostic(const Diagnostic& diagnostic);
    void addProcess(const ProcessFacts& process);
    void addLabel(const RunLabel& label);
    /// What is known of the run as a whole at its end.
    void describe(const RunFacts& facts);
    /// The terminal was closed: the run goes on, and the recording says so.
    void noteHangup();
    /// Messages were lost for this reason.
    void noteLostWords(const std::string& why);

private:
    void on(RankId rank, const run::RankStarted& started);
    void on(RankId rank, const run::RankHello& hello);
    void on(RankId rank, const run::PeakMeasured& peak);
    void on(RankId rank, const run::DeviceReported& reported);
    void on(RankId rank, const run::LaneDeclared& declared);
    void on(RankId rank, const run::StringsDeclared& declared);
    void on(RankId rank, const run::StepDone& done);
    void on(RankId rank, const run::RankActivity& activity);
    void on(RankId rank, const run::MetricReported& reported);
    void on(RankId rank, const run::SampleWritten& written);
    void on(RankId rank, const run::TheoryReported& reported);
    void on(RankId rank, const run::FactsReported& reported);
    void on(RankId rank, const run::DiagnosticRaised& raised);
    void on(RankId rank, const run::LogLine& line);
    void on(RankId rank, const run::RankFinished& finished);
    void on(RankId rank, const run::RankFailed& failed);
    void on(RankId rank, const run::RankExited& exited);
    /// Messages that are not for a recording.
    template <class T>
    void on(RankId, const T&) {}

    /// Notes the first failure to write; nothing is written after it.
    void wrote(const Result<void>& result);
    [[nodiscard]] bool canWrite() const { return !m_writeError.has_value(); }
    /// At capture level off steps and metrics only feed the progress shown.
    [[nodiscard]] bool storesSteps() const {
        return canWrite() && m_of.capture.level != CaptureLevel::kOff;
    }
    [[nodiscard]] bool isRank(RankId rank) const {
        return m_of.ranks == 0 ? rank.value < kMostRanks
                               : rank.value < static_cast<std::uint32_t>(m_of.ranks);
    }
    RankFacts& facts(RankId rank);
    [[nodiscard]] std::int32_t hostOf(RankId rank) const;
    [[nodiscard]] Timestamp now() const;
    void noteDetail(RankId rank, const run::StepDone& done);
    void noteDamage(RankId rank, std::int64_t count, const std::string& why);
    void noteSqueezedOut();
    void noteDrops();
    void noteSetClock(const ClockFacts& clock);
    void noteEnd(const launch::RunOutcome& outcome, RunEnd& end);
    static void noteWriteError(const Error& error, RunEnd& end);
    void countKept(RunEnd& end);

    const RecordedRun m_of;
    std::int64_t m_originNs;
    storage::RecordingWriter m_writer;
    RunProgress& m_progress;
    launch::RunControl* m_control = nullptr;
    std::map<std::uint32_t, RankFacts> m_ranks;
    std::set<std::uint32_t> m_changedRanks;  ///< to be written at the next flush
    std::map<std::uint32_t, bool> m_finished;
    std::set<std::uint32_t> m_ended;
    HostBacklogs m_backlogs;
    std::map<std::int32_t, std::string> m_hostNames;
    std::map<RankId, std::int32_t> m_hostOf;         ///< of ranks that are not placed beforehand
    std::map<std::int32_t, Timestamp> m_comparedAt;  ///< clocks of hosts, the last time
    std::string m_libraries;  ///< of the lowest rank that has spoken, as the recording has them
    RankId m_librariesOf;
    StepTally m_tally;
    RankPace m_pace;
    std::optional<storage::SlowSteps> m_slow;  ///< where only slow steps are kept; m_writer's
    std::optional<Error> m_writeError;
    bool m_hungUp = false;
    bool m_saidThinned = false;
    std::map<std::uint32_t, std::int64_t> m_damagedChunks;  ///< by rank
    std::chrono::steady_clock::time_point m_nextFlush;
    std::chrono::steady_clock::time_point m_nextCheckpoint;
};

}  // namespace shardscope::cli
