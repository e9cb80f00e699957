// What `shardscope record --control stdio` says on its standard output, one JSON object a line:
// the recorder encodes, the window decodes. A newer recorder may say more than is known here.
#pragma once

#include "storage/model/result.h"
#include "storage/model/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace shardscope::run {

struct RunStarted {
    std::string output;
    std::string model;
    std::string strategy;
    std::int32_t ranks = 0;
    std::int32_t steps = 0;
    std::int64_t parameters = 0;
    /// Of a program that is no training of ours, as a shell would have it: then model and strategy
    /// are empty, and numbers of 0 unknown.
    std::string command = {};
};

/// One step of the whole run; absent where ranks did not report it.
struct StepProgress {
    std::int32_t step = 0;
    std::int32_t steps = 0;
    std::optional<double> loss;
    std::optional<double> tokensPerSecond;
    std::optional<double> learningRate;
    std::optional<double> gradientNorm;
    std::optional<Bytes> memory;            ///< of the rank that holds most
    std::optional<double> blockedFraction;  ///< of wall time, all ranks together
    std::optional<double> secondsLeft;
    double timeSeconds = 0;                  ///< of the recording's clock, at the step's end
    std::optional<double> stepSeconds = {};  ///< that the slowest rank took
};

struct ValidationDone {
    std::int32_t step = 0;
    double loss = 0;
};

struct RankChanged {
    std::int32_t rank = 0;
    std::string state;  ///< "starting" "running" "finished" "failed"
    std::int64_t pid = 0;
};

/// What a rank is at, about once a second; absent where it is not known.
struct RankFigures {
    std::int32_t rank = 0;
    std::optional<std::int32_t> step;    ///< the one in hand, or the last
    std::string phase;                   ///< word of Phase; empty: between two phases
    std::optional<std::int32_t> layer;   ///< as LayerIndex
    std::optional<double> phaseSeconds;  ///< at least so long in this very phase
    bool waits = false;                  ///< in a collective
    bool queues = false;  ///< a GPU's rank: the phase is what its host queues, not what runs
    std::optional<Bytes> tensors;           ///< in live blocks of its allocator and in buffers, now
    std::optional<Bytes> residentSet;       ///< of its process
    std::optional<double> tokensPerSecond;  ///< of this rank, over its last `stepsCounted` steps
    std::int32_t stepsCounted = 0;
    std::optional<double> stepSeconds = {};  ///< mean of the same steps
    std::optional<double> cores = {};        ///< processor time of its process per time, lately
};

/// All processes of a program that is no training of ours, about once a second.
struct ProgramFigures {
    std::int32_t processes = 0;
    std::optional<Bytes> residentSet;
    std::optional<double> cores;  ///< as RankFigures has it
};

/// Text that the model wrote (--sample).
struct SampleText {
    std::int32_t step = 0;
    std::string text;
};

/// A host on the way to its agent, and at the end of a run.
struct HostChanged {
    std::int32_t host = 0;
    std::string name;
    std::string state;  ///< "waiting" "connecting" "looking" "sending" "starting" "ready" "failed",
                        ///< "fetching" LibTorch there, or its events from there after the last step
    std::string detail;  ///< what is sent, why it failed; may be empty
    Bytes sent{};        ///< of what is sent or fetched
    Bytes all{};
};

struct RecorderLog {
    std::string level;  ///< "info" "warning" "error"
    std::string text;
};

struct RunFinished {
    std::string status;  ///< "finished" "stopped" "failed" "killed"
    std::string output;
    std::int32_t exitCode = 0;
    std::string message;
};

using ProgressEvent =
    std::variant<RunStarted, StepProgress, ValidationDone, RankChanged, HostChanged, RecorderLog,
                 RunFinished, RankFigures, SampleText, ProgramFigures>;

/// One line without its newline.
[[nodiscard]] std::string encodeProgress(const ProgressEvent& event);
/// Events that are not known are nullopt; text that is no such object is an error.
Result<std::optional<ProgressEvent>> decodeProgress(std::string_view line);

}  // namespace shardscope::run
