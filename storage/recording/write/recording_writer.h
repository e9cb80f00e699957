// The only writer of a recording: an SQLite database in WAL mode, committed in batches.
//
// Lives on one thread of `shardscope record`. Every call that stores something joins the
// open transaction; flush() commits it, finalise() turns the file into one plain database.
// A process that dies between two flushes loses at most what came since the last one.
#pragma once

#include "storage/columns/arguments.h"
#include "storage/model/recording.h"
#include "storage/model/result.h"
#include "storage/model/size_limit.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace shardscope::storage {

/// Which pyramids stay when a recording is finished.
enum class Pyramids {
    kWhereTheyHelp,  ///< not in a small recording, nor fine segments hardly smaller than their
                     ///< events
    kAll,            ///< as they are, for tests of those who read them
};

class RecordingWriter {
public:
    /// Creates PATH. An existing file is an error (kUsage) unless `overwrite`, and even then where
    /// it is no recording, is one that is being written, or is one of the run's `inputs`.
    static Result<RecordingWriter> create(const std::string& path, const RunFacts& run,
                                          bool overwrite,
                                          const std::vector<std::string>& inputs = {});
    RecordingWriter(RecordingWriter&&) noexcept;
    RecordingWriter& operator=(RecordingWriter&&) noexcept;
    ~RecordingWriter();  ///< commits what is pending; the file stays marked incomplete

    /// Replaces RunFacts::librariesJson, known only once a rank has said hello.
    Result<void> putLibraries(const std::string& librariesJson);
    /// Replaces what create() was given, all but the status: an import knows it only at its end.
    Result<void> putRun(const RunFacts& run);
    Result<void> addHost(const HostFacts& host);
    Result<void> addClock(const ClockFacts& clock);
    Result<void> addLane(const LaneFacts& lane);
    /// Replaces the row of the same rank.
    Result<void> putRank(const RankFacts& rank);
    /// Replaces the row of the same rank.
    Result<void> putDevice(const DeviceFacts& device);
    Result<void> addStrings(RankId rank, StringId first, const std::vector<std::string>& texts);
    /// Arguments of spans (storage/columns/arguments.h), whose ids count from `first`.
    Result<void> addArguments(RankId rank, StringId first, const columns::ArgumentRows& rows);
    Result<void> addStep(const StepFacts& step);
    /// All of a rank that came so far, and a host: an import that is read before its end knows
    /// only then which there are.
    Result<void> removeSteps(RankId rank);
    Result<void> removeHost(std::int32_t host);
    Result<void> addMetric(const MetricPoint& metric);
    Result<void> addMemoryTheory(const MemoryTheory& theory);
    Result<void> putFact(const FactRow& fact);
    /// Replaces the row of the same host, number and start.
    Result<void> putProcess(const ProcessFacts& process);
    Result<void> addDiagnostic(const Diagnostic& diagnostic);

    /// Stores one encoded chunk (storage/columns/chunk.h) after checking that it decodes, and
    /// feeds pyramids, memory-by-category counters and the collectives table from it.
    Result<void> addChunk(std::span<const std::byte> chunk);

    /// From now on the file, log included, stays within `limit`: detail of the oldest steps is
    /// thinned by flush(), and by addChunk() where much comes at once. Before the first chunk.
    Result<void> limitSize(const SizeLimit& limit);
    /// Whether the limit has cost any detail so far.
    [[nodiscard]] bool hasThinned() const;
    /// Steps that are held at less than the run's level for another reason than such a limit.
    Result<void> addDetail(const DetailFacts& detail);

    /// Commits. Call at least once a second while recording. An error (kFailure) also when the
    /// file is no longer where it was made: see isInPlace().
    Result<void> flush();

    /// Brings what was committed from the log (-wal) into the file itself, as far as readers let
    /// it. A file that is copied without its log then lacks only what came since.
    Result<void> checkpoint();

    /// False once the file was deleted, moved or replaced by another: what is written is lost.
    [[nodiscard]] bool isInPlace() const;

    /// Writes remaining pyramids, sets status and end, checkpoints the WAL away.
    Result<void> finalise(RunStatus status, Timestamp ended,
                          Pyramids pyramids = Pyramids::kWhereTheyHelp);

    [[nodiscard]] const EventCounts& events() const;

    /// Spans of a lane that intersect `range`, by start, of all that was stored so far.
    Result<std::vector<SpanEvent>> storedSpans(RankId rank, LaneId lane, TimeRange range);

    /// What is in the file by its own account, whatever was meant to be written.
    struct Kept {
        std::int32_t steps = 0;  ///< of which every rank's row is there
        std::uint64_t events = 0;
    };
    [[nodiscard]] Result<Kept> kept() const;

private:
    struct State;
    void abandonLog();
    explicit RecordingWriter(std::unique_ptr<State> state);
    std::unique_ptr<State> m_state;
};

}  // namespace shardscope::storage
