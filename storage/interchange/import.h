// Foreign traces into recordings: the format is recognised by content, never by name.
#pragma once

#include "storage/interchange/account.h"
#include "storage/interchange/trace_builder.h"
#include "storage/model/result.h"
#include "storage/model/words.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::interchange {

enum class TraceFormat : std::uint8_t {
    kKineto,          ///< Chrome JSON, object or bare array, plain or gzip
    kNsysSqlite,      ///< Nsight Systems SQLite export
    kMemorySnapshot,  ///< PyTorch CUDA memory snapshot (pickle)
    kRecording,       ///< our own, perhaps of an older format
    kFolded,          ///< folded stacks
    kPerfetto,        ///< .pftrace written by us
};
constexpr auto wordsOf(TraceFormat) {
    return wordList<Word<TraceFormat>>(
        {{TraceFormat::kKineto, "a PyTorch profiler (Kineto) trace"},
         {TraceFormat::kNsysSqlite, "an Nsight Systems SQLite export"},
         {TraceFormat::kMemorySnapshot, "a PyTorch memory snapshot"},
         {TraceFormat::kRecording, "a Shardscope recording"},
         {TraceFormat::kFolded, "folded stacks"},
         {TraceFormat::kPerfetto, "a Perfetto trace"}});
}

/// From the first bytes of a file (64 KiB are enough), gzip looked through. kUnreadable with a
/// sentence that names what it seems to be instead ("an execution trace", "truncated gzip").
/// `title` is what sentences call the file; empty: its path.
Result<TraceFormat> recogniseTrace(const std::string& path, const std::string& title = {});

struct ImportOptions {
    std::string output;
    bool overwrite = false;
    bool strict = false;  ///< any rejected event fails the import
    /// Share of the input read, now and then; returns false to cancel (kCancelled).
    std::function<bool(double)> progress;
};

/// Files, or folders with one file a rank. "-" reads standard input; that and other pipes are
/// copied to a file beside the output first, which is removed at the end.
Result<ImportAccount> importTraces(const std::vector<std::string>& inputs,
                                   const ImportOptions& options);

/// Readers of the formats: one file into `builder`, as rank `rank` unless the file says itself.
/// Input that is hostile or no such trace is kUnreadable with a sentence; memory stays bounded.
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
};
struct ReaderResult {
    ImportAccount account;
    RankId rank;                  ///< the one it was read as, or the first of several
    std::uint32_t ranks = 1;      ///< a file may hold several processes: ranks from `rank` on
    RunFacts run;                 ///< what the file knows of the run
    bool mayBeEmpty = true;       ///< false: without an event it is no trace of anything
    bool wholeRun = false;        ///< run.configJson is the run's own, not the reader's
    Timestamp ended;              ///< latest end of an event
    std::int64_t baseUnixNs = 0;  ///< wall clock of the builder's time 0; 0: not known
    std::int64_t clockBaseNs = 0;
    std::int64_t zeroNs = 0;
    /// The file said only at its end that rank or clock base differ from what was assumed: what
    /// was built is wrong, read again with these.
    bool readAgain = false;
};
Result<ReaderResult> readKineto(const ReaderRequest& request);
Result<ReaderResult> readNsysSqlite(const ReaderRequest& request);
Result<ReaderResult> readMemorySnapshot(const ReaderRequest& request);
Result<ReaderResult> readFolded(const ReaderRequest& request);
Result<ReaderResult> readPerfetto(const ReaderRequest& request);

}  // namespace shardscope::interchange
