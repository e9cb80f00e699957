// Foreign traces into recordings: the format is recognised by content, never by name.
#pragma once

#include "storage/interchange/account.h"
#include "storage/interchange/trace_builder.h"
#include "storage/model/ids.h"
#include "storage/model/input_file.h"
#include "storage/model/recording.h"
#include "storage/model/result.h"
#include "storage/model/run_label.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::interchange {
namespace kineto {
struct RankLayout;
}

/// What a program that had the traces written knows of them, and the traces do not say.
struct TracedRun {
    std::vector<RankId> ranks;  ///< of each input, in their order
    /// Likewise, where steps go from one run of the optimizer to the next: number of the first one.
    std::vector<std::int32_t> firstSteps{};
    std::int32_t worldSize = 0;
    std::string commandLine;
    std::string product;  ///< instead of the import
    std::vector<Diagnostic> diagnostics{};
    RunLabel label{};
};

struct ImportOptions {
    std::string output;
    bool overwrite = false;
    bool strict = false;  ///< any rejected event fails the import
    /// Share of the input read, now and then; returns false to cancel (kCancelled).
    std::function<bool(double)> progress;
    /// Of a pipe that has given nothing for pipePatience, each time: a sentence about what is
    /// waited for. One that no program writes to is given up then.
    std::function<void(const std::string& sentence)> waits{};
    std::chrono::seconds pipePatience = kPipePatience;
    /// Called at most once, as soon as the recording can be opened at `part` with events of a lane
    /// in it. It grows there like one that is being recorded, and is gone at the end, when it has
    /// its name, and when the import fails. Own recordings are copied without this call.
    std::function<void(const std::string& part)> readable;
    /// After that, each time that the files said so late what they mean that they have to be read
    /// once more. What is readable grows no more, and its times become later by so much; nothing:
    /// not all by the same, or its ranks become others.
    std::function<void(std::optional<Duration> later)> readAgain;
    std::optional<TracedRun> traced{};  ///< of files, not of folders
};

/// Files, or folders with one file a rank. "-" reads standard input; that and other pipes are
/// copied to a file beside the output first, which is removed at the end.
Result<ImportAccount> importTraces(const std::vector<std::string>& inputs,
                                   const ImportOptions& options);

/// What a format's reader (formats.h) is asked for: one file into `builder`, as rank `rank` unless
/// the file says itself. Input that is hostile or no such trace is kUnreadable with a sentence;
/// memory stays bounded.
struct ReaderRequest {
    std::string path;   ///< to open, as often as is needed
    std::string title;  ///< what sentences call it
    TraceBuilder* builder = nullptr;
    RankId rank;  ///< the first of them where a file holds several
    /// Of traces whose times are relative: to what, until the file says itself.
    std::optional<std::int64_t> clockBaseNs;
    /// The builder's time 0 on the clock that the files share; nothing: this file sets it.
    std::optional<std::int64_t> zeroNs;
    std::function<bool(double)> progress;
    std::shared_ptr<const kineto::RankLayout> layout{};  ///< from having read it before, if known
    std::optional<std::int32_t> firstStep{};             ///< TracedRun::firstSteps
};
/// What a file says of itself, perhaps only at its end.
struct StatedByFile {
    std::optional<RankId> rank;
    std::optional<std::int64_t> clockBaseNs;
    /// The input before it that its process wrote too: it is of the same ranks (import_inputs.h).
    std::optional<std::size_t> continues{};
    /// Whose rows are whose; of a format whose reader finds that out by reading (kineto/).
    std::shared_ptr<const kineto::RankLayout> layout{};
};
/// Where the file states another rank or clock base than it was read with, or `misread`, what was
/// built is wrong: the caller reads it again with what it states.
struct ReaderResult {
    ImportAccount account;
    StatedByFile stated;
    bool misread = false;           ///< its layout is another than the one it was read with
    RankId rank;                    ///< the one it was read as, or the first of several
    std::string process;            ///< host and number of the process it is of, where it says so
    std::vector<RankId> moreRanks;  ///< of a file that holds several processes or devices
    RunFacts run;                   ///< what the file knows of the run
    bool mayBeEmpty = true;         ///< false: without an event it is no trace of anything
    bool wholeRun = false;          ///< run.configJson is the run's own, not the reader's
    Timestamp ended;                ///< latest end of an event
    std::int64_t baseUnixNs = 0;    ///< wall clock of the builder's time 0; 0: not known
    std::int64_t clockBaseNs = 0;   ///< the one it was read with
    std::int64_t zeroNs = 0;
};

// Recordings of our own, perhaps of an older format, into a new one. Internal to
// storage/interchange.

/// The inputs stay as they are. Several are joined where their ranks differ, by the wall clock that
/// their times count from; `freshId` names the run unless all are of one.
Result<ImportAccount> importRecordings(const std::vector<std::string>& paths,
                                       const std::string& freshId, const ImportOptions& options);

}  // namespace shardscope::interchange
