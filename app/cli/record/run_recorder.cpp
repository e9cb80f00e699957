#include "app/cli/record/run_recorder.h"

#include "engine/control/observer.h"
#include "profiler/analysis/report/report.h"
#include "storage/columns/chunk.h"
#include "storage/model/host_clock.h"
#include "storage/model/host_facts.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/recording_clock.h"
#include "storage/model/run_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cmath>
#include <type_traits>
#include <utility>

namespace shardscope::cli {
namespace {

/// Well inside the promise of one second.
constexpr std::chrono::milliseconds kFlushInterval{500};
/// What a file that is copied without its log, or whose log is lost, lacks at most.
constexpr std::chrono::milliseconds kCheckpointInterval{1000};

// No rank speaks for another one, whatever the message says.
void ofRank(RankId rank, run::LaneDeclared& declared) {
    declared.lane.rank = rank;
}
void ofRank(RankId rank, run::DeviceReported& reported) {
    reported.device.rank = rank;
}
void ofRank(RankId rank, run::StepDone& done) {
    done.step.rank = rank;
}
void ofRank(RankId rank, run::TheoryReported& reported) {
    for (MemoryTheory& each : reported.categories) each.rank = rank;
}

/// As `report` says it of the same file.
std::optional<double> tokensPerSecondOf(const std::string& recording) {
    const auto reader = storage::openRecording(recording);
    if (!reader) return std::nullopt;
    const auto summary = (*reader)->summary();
    if (!summary) return std::nullopt;
    return analysis::analyse(*summary, {}).tokensPerSecond;
}

}  // namespace

RecordedRun recordedRunOf(const run::RunConfig& config) {
    return {config.output, run::captureWishOf(config), {}, config.captureSlow, config.ranks,
            config.steps,  run::placesOf(config)};
}

RunRecorder::RunRecorder(RecordedRun run, std::int64_t originNs, storage::RecordingWriter writer,
                         RunProgress& progress)
    : m_of(std::move(run)),
      m_originNs(originNs),
      m_writer(std::move(writer)),
      m_progress(progress),
      m_backlogs(progress),
      m_tally(m_of.ranks, m_of.steps),
      m_nextFlush(std::chrono::steady_clock::now()) {
    constexpr double kUsuallySlow = 2;
    constexpr std::size_t kMostKept = std::size_t{512} << 20;
    if (m_of.keepLast.ns > 0)
        m_slow.emplace(m_writer, m_of.captureSlow > 0 ? m_of.captureSlow : kUsuallySlow,
                       m_of.keepLast, kMostKept);
    else if (m_of.captureSlow > 0)
        m_slow.emplace(m_writer, m_of.captureSlow, m_of.ranks);
}

void RunRecorder::hostReady(const HostFacts& host) {
    m_hostNames[host.host] = host.name;
    m_backlogs.name(host.host, host.name);
    if (canWrite()) wrote(m_writer.addHost(host));
}

void RunRecorder::backlog(std::int32_t host, const run::Backlog& held) {
    m_backlogs.note(host, held, m_ended.size() == static_cast<std::size_t>(m_of.ranks));
}

void RunRecorder::clockCompared(const ClockFacts& clock) {
    if (canWrite()) wrote(m_writer.addClock(clock));
    if (clock.stepped) noteSetClock(clock);
    m_comparedAt[clock.host] = clock.time;
}

/// Times that were stamped before it was noticed stay as they are.
void RunRecorder::noteSetClock(const ClockFacts& clock) {
    const bool lost = clock.residualNs > 0;  // what has to be added to its times
    const double seconds = std::abs(Duration{clock.residualNs}.seconds());
    const std::string& name = m_hostNames[clock.host];
    addDiagnostic(
        {Severity::kWarning, "clock-stepped",
         fmt::format("the clock of {} {} {:.6g} s between {:.3f} s and {:.3f} s of the recording: "
                     "times of its ranks in between are up to that much too {}; then they {}",
                     name, lost ? "lost" : "was set forwards by", seconds,
                     m_comparedAt[clock.host].seconds(), clock.time.seconds(),
                     lost ? "early" : "late",
                     lost ? "move forwards to the right time"
                          : fmt::format("pass slower, by {:.0f} % at most, until they are right",
                                        RecordingClock::kMostDelay * 100)),
         "Do not interpret waits between hosts there; do not suspend hosts or set their "
         "clocks while a run is recorded.",
         std::nullopt, clock.time, 1});
}

void RunRecorder::message(RankId rank, const run::Message& message) {
    std::visit(
        [&](const auto& each) {
            if constexpr (requires(std::remove_cvref_t<decltype(each)> own) {
                              ofRank(rank, own);
                          }) {
                auto own = each;
                ofRank(rank, own);
                on(rank, own);
            } else {
                on(rank, each);
            }
        },
        message);
}

void RunRecorder::chunk(RankId rank, std::span<const std::byte> bytes) {
    if (!canWrite()) return;
    const auto header = columns::decodeHeader(bytes);
    if (header && header->rank != rank)
        return noteDamage(rank, ++m_damagedChunks[rank.value],
                          fmt::format("they claim to be of rank {}", header->rank.value));
    const auto result = m_slow ? m_slow->add(rank, bytes) : m_writer.addChunk(bytes);
    if (!result && result.error().code == ErrorCode::kUnreadable) {
        noteDamage(rank, ++m_damagedChunks[rank.value], result.error().message);
        return;
    }
    wrote(result);
}

bool RunRecorder::keep() {
    if (m_of.keepLast.ns == 0) return false;
    m_slow->keep();
    return true;
}

void RunRecorder::tick() {
    const auto time = std::chrono::steady_clock::now();
    if (time < m_nextFlush || !canWrite()) return;
    m_nextFlush = time + kFlushInterval;
    for (const std::uint32_t rank : m_changedRanks) {
        if (canWrite()) wrote(m_writer.putRank(m_ranks.at(rank)));
    }
    m_changedRanks.clear();
    if (canWrite()) wrote(m_writer.flush());
    if (canWrite() && m_writer.hasThinned() && !std::exchange(m_saidThinned, true))
        m_progress.log("info",
                       "the recording nears its limit: from now on the oldest steps lose "
                       "detail; steps and metrics stay");
    if (time < m_nextCheckpoint || !canWrite()) return;
    m_nextCheckpoint = time + kCheckpointInterval;
    wrote(m_writer.checkpoint());
}

void RunRecorder::on(RankId rank, const run::RankStarted& started) {
    facts(rank).pid = started.pid;
    m_progress.rank(rank, "starting", started.pid);
}

void RunRecorder::on(RankId rank, const run::RankHello& hello) {
    facts(rank).device = hello.device;
    if (m_libraries.empty() || rank <= m_librariesOf) {
        m_librariesOf = rank;
        m_libraries = nlohmann::json(hello.libraries).dump();
        if (canWrite()) wrote(m_writer.putLibraries(m_libraries));
    }
    m_progress.rank(rank, "running", hello.pid);
}

void RunRecorder::on(RankId rank, const run::PeakMeasured& peak) {
    facts(rank).peakFlops = peak.peakFlops;
    facts(rank).peakSource = peak.source;
}

void RunRecorder::on(RankId, const run::DeviceReported& reported) {
    if (canWrite()) wrote(m_writer.putDevice(reported.device));
}

void RunRecorder::on(RankId, const run::LaneDeclared& declared) {
    if (canWrite()) wrote(m_writer.addLane(declared.lane));
}

void RunRecorder::on(RankId rank, const run::StringsDeclared& declared) {
    if (canWrite()) wrote(m_writer.addStrings(rank, StringId{declared.first}, declared.texts));
}

void RunRecorder::on(RankId rank, const run::StepDone& done) {
    facts(rank).emitted = done.step.emitted;
    facts(rank).dropped = done.step.dropped;
    if (storesSteps()) wrote(m_writer.addStep(done.step));
    noteDetail(rank, done);
    if (m_slow && storesSteps()) wrote(m_slow->stepDone(done.step));
    m_pace.add(done.step);
    m_tally.add(done);
    for (const StepProgress& step : m_tally.take()) m_progress.step(step);
}

void RunRecorder::on(RankId rank, const run::RankActivity& activity) {
    m_progress.figures(m_pace.figures(rank, activity));
}

void RunRecorder::on(RankId, const run::MetricReported& reported) {
    const MetricPoint& point = reported.point;
    if (storesSteps()) wrote(m_writer.addMetric(point));
    if (point.name == "validation_loss") {
        m_progress.validation(point.step.value, point.value);
        return;
    }
    m_tally.add(point);
    for (const StepProgress& step : m_tally.take()) m_progress.step(step);
}

void RunRecorder::on(RankId rank, const run::SampleWritten& written) {
    const std::int32_t step = written.step.value;
    addDiagnostic({Severity::kNote, "sample",
                   fmt::format("the model after step {}: {}", step, written.text), "", rank,
                   written.time, 1});
    m_progress.sample(step, written.text);
}

void RunRecorder::on(RankId, const run::TheoryReported& reported) {
    for (const MemoryTheory& each : reported.categories) {
        if (canWrite()) wrote(m_writer.addMemoryTheory(each));
    }
}

void RunRecorder::on(RankId rank, const run::FactsReported& reported) {
    const auto own = static_cast<std::int32_t>(rank.value);
    if (!isRank(rank)) return;
    for (FactRow fact : reported.facts) {
        fact.host = hostOf(rank);
        fact.rank = fact.rank < 0 ? -1 : own;
        if (canWrite()) wrote(m_writer.putFact(fact));
    }
}

void RunRecorder::on(RankId, const run::DiagnosticRaised& raised) {
    addDiagnostic(raised.diagnostic);
}

void RunRecorder::on(RankId rank, const run::LogLine& line) {
    m_progress.log(line.level,
                   isRank(rank) ? fmt::format("rank {}: {}", rank.value, line.text) : line.text);
}

void RunRecorder::on(RankId rank, const run::RankFinished& finished) {
    facts(rank).emitted = finished.emitted;
    facts(rank).dropped = finished.dropped;
    m_finished[rank.value] = true;
}

void RunRecorder::on(RankId rank, const run::RankFailed& failed) {
    if (!isRank(rank)) return;
    m_progress.log("error", fmt::format("rank {}: {}", rank.value, failed.message));
}

void RunRecorder::on(RankId rank, const run::RankExited& exited) {
    m_ended.insert(rank.value);
    facts(rank).exitCode = exited.code;
    facts(rank).exitSignal = exited.signal;
    const bool well = exited.code == 0 && m_finished[rank.value];
    if (!well) keep();
    m_progress.rank(rank, well ? "finished" : "failed", facts(rank).pid);
}

void RunRecorder::describe(const RunFacts& facts) {
    RunFacts whole = facts;
    if (!m_libraries.empty()) whole.librariesJson = m_libraries;
    if (canWrite()) wrote(m_writer.putRun(whole));
}

void RunRecorder::addDiagnostic(const Diagnostic& diagnostic) {
    if (canWrite()) wrote(m_writer.addDiagnostic(diagnostic));
    m_progress.log(diagnostic.severity == Severity::kNote ? "info" : "warning", diagnostic.message);
}

void RunRecorder::addLabel(const RunLabel& label) {
    for (const FactRow& row : rowsOf(label))
        if (canWrite()) wrote(m_writer.putFact(row));
}

void RunRecorder::addProcess(const ProcessFacts& process) {
    if (canWrite()) wrote(m_writer.putProcess(process));
}

void RunRecorder::noteHangup() {
    if (std::exchange(m_hungUp, true)) return;
    addDiagnostic(
        {Severity::kNote, "terminal-closed", "the terminal of the run was closed; training goes on",
         fmt::format("`kill {}` stops it after the step and finishes the recording.", ::getpid()),
         std::nullopt, now(), 1});
}

void RunRecorder::noteLostWords(const std::string& why) {
    addDiagnostic(
        {Severity::kNote, "words-lost",
         fmt::format("messages of the recorder on standard error were lost from some moment on "
                     "({}); training went on",
                     why),
         "", std::nullopt, now(), 1});
}

void RunRecorder::wrote(const Result<void>& result) {
    if (result || m_writeError) return;
    m_writeError = Error{ErrorCode::kFailure,
                         fmt::format("the recording {} cannot be written any more: {}; {}{}",
                                     m_of.output, result.error().message, m_of.whenUnwritable,
                                     m_writer.isInPlace() ? ", what was written is kept" : "")};
    if (m_control != nullptr) m_control->abandon(*m_writeError);
}

RankFacts& RunRecorder::facts(RankId rank) {
    m_changedRanks.insert(rank.value);
    RankFacts& facts = m_ranks[rank.value];
    facts.rank = rank;
    facts.host = hostOf(rank);
    return facts;
}

std::int32_t RunRecorder::hostOf(RankId rank) const {
    if (m_of.ranks > 0) return m_of.places.hostOf(static_cast<std::int32_t>(rank.value));
    const auto known = m_hostOf.find(rank);
    return known == m_hostOf.end() ? 0 : known->second;
}

Timestamp RunRecorder::now() const {
    return Timestamp{hostNow() - m_originNs};
}

/// A step that its rank captured at less than the run's level.
void RunRecorder::noteDetail(RankId rank, const run::StepDone& done) {
    if (!storesSteps() || done.capture >= m_of.capture.level) return;
    DetailFacts facts;
    facts.rank = rank;
    facts.first = facts.last = done.step.step;
    facts.range = done.step.range();
    facts.level = done.capture;
    facts.reason = done.captureReason;
    facts.removed = 0;
    wrote(m_writer.addDetail(facts));
}

void RunRecorder::noteDamage(RankId rank, std::int64_t count, const std::string& why) {
    // The first, and then each time there are twice as many: a rank may send nothing else.
    if ((count & (count - 1)) != 0) return;
    addDiagnostic({Severity::kProblem, "chunk-damaged",
                   fmt::format("rank {} sent events that cannot be read: {}", rank.value, why),
                   "Use the same build of Shardscope for all processes.", rank, now(), count});
}

void RunRecorder::noteSqueezedOut() {
    if (!m_slow || m_slow->squeezedOut() == 0) return;
    addDiagnostic(
        {Severity::kWarning, "slow-steps-squeezed",
         fmt::format("{} events were given up before it was known whether their steps "
                     "are slow: a step with those beside it takes more than the {} that "
                     "are held in memory for it",
                     m_slow->squeezedOut(),
                     sizeText({static_cast<std::int64_t>(storage::SlowSteps::kMostBytes)})),
         "Use --capture light with --capture-slow.", std::nullopt, now(),
         static_cast<std::int64_t>(m_slow->squeezedOut())});
}

void RunRecorder::noteDrops() {
    for (const auto& [rank, facts] : m_ranks) {
        if (facts.dropped == 0) continue;
        addDiagnostic({Severity::kWarning, "events-dropped",
                       fmt::format("rank {} dropped {} of {} events because they could not be "
                                   "taken up in time; counts and times from them are too "
                                   "low, and memory is off where a free was among them",
                                   rank, facts.dropped, facts.emitted),
                       "Record with --capture light, or leave a core free.", RankId{rank}, now(),
                       static_cast<std::int64_t>(facts.dropped)});
    }
}

void RunRecorder::noteEnd(const launch::RunOutcome& outcome, RunEnd& end) {
    if (outcome.failure) {
        end.status = RunStatus::kFailed;
        end.exitStatus = exitStatus(*outcome.failure);
        end.message = outcome.failure->message;
        if (!outcome.failedRank) end.lostHost = outcome.lostHost;
        // Not as a log line too: the end is reported in the same words.
        if (!canWrite()) return;
        wrote(m_writer.addDiagnostic({Severity::kProblem,
                                      outcome.failedRank ? "rank-died"
                                      : end.lostHost     ? "host-lost"
                                                         : "run-failed",
                                      end.message,
                                      "Fix the cause and record again; everything so far is kept.",
                                      outcome.failedRank, now(), 1}));
    } else if (outcome.killed || outcome.stopped) {
        end.status = outcome.killed ? RunStatus::kKilled : RunStatus::kStopped;
        end.exitStatus = static_cast<int>(ErrorCode::kInterrupted);
        end.message = outcome.killed ? "killed on request" : "stopped on request";
    }
}

/// A run that was stopped has failed as well, where its recording lacks something.
void RunRecorder::noteWriteError(const Error& error, RunEnd& end) {
    if (end.message.find(error.message) != std::string::npos) return;
    end.message += (end.message.empty() ? "" : "; ") + error.message;
    if (end.status == RunStatus::kFailed) return;
    end.status = RunStatus::kFailed;
    end.exitStatus = exitStatus(error);
}

/// Of the file itself: what was sent or begun may have been lost since.
void RunRecorder::countKept(RunEnd& end) {
    end.kept = m_writer.isInPlace();
    const auto kept = m_writer.kept();
    if (!kept) return;
    end.stepsKept = kept->steps;
    end.events = kept->events;
}

RunEnd RunRecorder::conclude(const launch::RunOutcome& outcome, RunStatus byItself) {
    RunEnd end;
    end.status = byItself;
    end.output = m_of.output;
    end.ranks = m_of.ranks;
    for (const StepProgress& step : m_tally.takeRest()) m_progress.step(step);
    if (m_slow && canWrite()) wrote(m_slow->finish());
    noteSqueezedOut();
    noteDrops();
    for (const Diagnostic& each : m_backlogs.lost(now())) addDiagnostic(each);
    noteEnd(outcome, end);
    m_nextFlush = {};
    tick();
    // Tried even after a failure: a disk may have been full for a moment only.
    const auto finalised = m_writer.finalise(end.status, now());
    if (!finalised && !m_writeError) m_writeError = finalised.error();
    if (m_writeError) noteWriteError(*m_writeError, end);
    end.whole = !m_writeError;
    end.stepsDone = m_tally.stepsDone();
    end.lossFirst = m_tally.lossFirst();
    end.lossLast = m_tally.lossLast();
    end.tokensPerSecond = tokensPerSecondOf(m_of.output);
    countKept(end);
    for (const auto& [rank, facts] : m_ranks) end.dropped += facts.dropped;
    return end;
}

}  // namespace shardscope::cli
