// What the user or the desktop sees while a run is recorded.
//
// An interface with four kinds: a live line on a terminal, plain lines elsewhere, JSON lines
// for the desktop, nothing with --quiet. All on the recorder's only thread.
#pragma once

#include "engine/run/config/run_config.h"
#include "engine/run/protocol/progress.h"
#include "storage/model/recording.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::cli {

using run::StepProgress;

struct RunEnd {
    RunStatus status = RunStatus::kFinished;
    int exitStatus = 0;
    std::string message;         ///< why, in a sentence; empty when all went well
    std::string output;          ///< empty where nothing was recorded
    bool kept = true;            ///< false: the recording is not under that name any more
    bool whole = true;           ///< false: from some moment on nothing could be written
    std::int32_t stepsDone = 0;  ///< trained
    std::int32_t stepsKept = 0;  ///< counted in the file, like the events
    std::optional<double> lossFirst;
    std::optional<double> lossLast;
    std::optional<double> tokensPerSecond;
    std::uint64_t events = 0;
    std::uint64_t dropped = 0;
    std::optional<std::int32_t> lostHost;  ///< by which the run ended
    std::int32_t ranks = 0;                ///< 0: none were to be started
    std::int32_t processes = 0;            ///< that were seen of another program
    std::vector<std::string> earlier;      ///< recordings before restarts, the first one first
};

class RunProgress {
public:
    virtual ~RunProgress() = default;
    virtual void started(const run::RunConfig& config, std::int64_t parameters) = 0;
    /// The same of a program that is no training of ours.
    virtual void programStarted(const run::RunStarted&) {}
    /// About once a second of all its processes together.
    virtual void programFigures(const run::ProgramFigures&) {}
    virtual void step(const StepProgress& progress) = 0;
    virtual void validation(std::int32_t step, double loss) = 0;
    /// state: starting running finished failed
    virtual void rank(RankId rank, const char* state, std::int64_t pid) = 0;
    /// About once a second of each rank; for a window, which has a table for them.
    virtual void figures(const run::RankFigures&) {}
    /// Reported by log() too.
    virtual void sample(std::int32_t /*step*/, const std::string& /*text*/) {}
    virtual void host(const run::HostChanged& changed) = 0;
    /// level: info warning error
    virtual void log(const std::string& level, const std::string& text) = 0;
    virtual void finished(const RunEnd& end) = 0;
};

/// On standard error: a live line when it is a terminal, else a plain line every 10 s.
std::unique_ptr<RunProgress> terminalProgress();
/// Warnings and errors only.
std::unique_ptr<RunProgress> quietProgress();
/// One JSON object a line on standard output (`--control stdio`).
std::unique_ptr<RunProgress> controlProgress();

/// finished, stopped, failed or killed: the words of `--json` and `--control`.
[[nodiscard]] const char* endWord(RunStatus status);

}  // namespace shardscope::cli
