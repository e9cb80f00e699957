// The small things of a recording: one struct a table row (storage/schema/FORMAT.md). Which member
// is which column says recording_tables.cpp.
#pragma once

#include "storage/model/detail.h"
#include "storage/model/events.h"
#include "storage/model/lanes.h"
#include "storage/model/members.h"
#include "storage/model/shared_rows.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope {

enum class RunStatus : std::uint8_t {
    kRecording = 1,  ///< still being written, or its writer died: "incomplete"
    kFinished = 2,   ///< all steps done
    kStopped = 3,    ///< the user asked to stop; complete up to there
    kFailed = 4,     ///< a rank failed; see diagnostics
    kKilled = 5,     ///< killed by the user
};
constexpr auto wordsOf(RunStatus) {
    return wordList<Word<RunStatus>>({{RunStatus::kRecording, "incomplete"},
                                      {RunStatus::kFinished, "finished"},
                                      {RunStatus::kStopped, "stopped"},
                                      {RunStatus::kFailed, "failed"},
                                      {RunStatus::kKilled, "killed"}});
}

/// Of a run; a recording that claims more is damaged.
inline constexpr std::int64_t kMostRanks = 100'000;

/// Facts about the run as a whole; written at creation, status and end at finalisation.
struct RunFacts {
    std::string id;          ///< random, 32 hex digits
    std::string configJson;  ///< the RunConfig that was used, whole
    std::string commandLine;
    std::string product;          ///< "shardscope 0.1.0 (commit)"
    std::string librariesJson;    ///< name -> version
    std::string environmentJson;  ///< allow-listed variables only
    std::string model;            ///< e.g. "shakespeare"
    std::string strategy;         ///< e.g. "zero3"
    std::int32_t worldSize = 0;
    std::int64_t parameters = 0;
    std::int64_t startedUnixNs = 0;  ///< wall-clock UTC of the recording clock's zero
    RunStatus status = RunStatus::kRecording;
    Timestamp ended;  ///< recording clock; last event when never finalised
};

/// How RunFacts::configJson begins of a program that is not ours (`shardscope record -- CMD`).
inline constexpr const char* kProgramConfig = R"({"program":)";

/// Where a recording comes from.
enum class RecordingSource : std::uint8_t {
    kOwnRun,   ///< Shardscope's own training
    kProgram,  ///< another program, recorded while it ran
    kImport,   ///< a trace of another tool
};
[[nodiscard]] inline RecordingSource sourceOf(const RunFacts& run) {
    if (!run.model.empty()) return RecordingSource::kOwnRun;
    return run.configJson.starts_with(kProgramConfig) ? RecordingSource::kProgram
                                                      : RecordingSource::kImport;
}

struct LaneFacts {
    RankId rank;
    LaneId lane;
    LaneRole role = LaneRole::kHost;
    std::string name;        ///< "compute", "operators", "communication", "memory: activations"
    std::string unit;        ///< counters only: "bytes", "ns", "1"
    std::int32_t order = 0;  ///< position within the rank, top first
};

enum class Severity : std::uint8_t { kNote = 1, kWarning = 2, kProblem = 3 };
constexpr auto wordsOf(Severity) {
    return wordList<Word<Severity>>({{Severity::kNote, "note"},
                                     {Severity::kWarning, "warning"},
                                     {Severity::kProblem, "problem"}});
}

/// Something that limits trust in the recording or ended the run.
struct Diagnostic {
    Severity severity = Severity::kNote;
    std::string code;     ///< "events-dropped", "rank-died", "more-ranks-than-cores"
    std::string message;  ///< what, where, consequence
    std::string remedy;   ///< what to do
    std::optional<RankId> rank;
    Timestamp time;
    std::int64_t count = 1;
};

struct EventCounts {
    std::uint64_t spans = 0;
    std::uint64_t collectives = 0;
    std::uint64_t memory = 0;
    std::uint64_t counters = 0;
    std::uint64_t flows = 0;
    std::uint64_t instants = 0;
    [[nodiscard]] std::uint64_t total() const {
        return spans + collectives + memory + counters + flows + instants;
    }
    [[nodiscard]] constexpr std::uint64_t& of(EventKind kind) {
        switch (kind) {
            case EventKind::kMemory:
                return memory;
            case EventKind::kCounter:
                return counters;
            case EventKind::kCollective:
                return collectives;
            case EventKind::kFlow:
                return flows;
            case EventKind::kInstant:
                return instants;
            case EventKind::kSpan:
                break;
        }
        return spans;
    }
};

/// Code of the diagnostic that says that a recording was cut out of a longer one.
inline constexpr const char* kPartOfRecording = "part";

/// Rows of a table that were there when the recording was finalised, and are not now.
struct LostRows {
    std::string table;
    std::uint64_t written = 0;
    std::uint64_t found = 0;
};

// Rows whose columns are in headers of their own (host_facts.h, rank_facts.h, step_facts.h), so
// that a new column compiles again only what looks at such rows.
struct HostFacts;
struct ClockFacts;
struct RankFacts;
struct DeviceFacts;
struct StepFacts;
struct MetricPoint;
struct MemoryTheory;
struct FactRow;
struct ProcessFacts;

/// All rows of a recording but its events; copies share steps and metrics.
struct RecordingSummary {
    RunFacts run;
    std::vector<HostFacts> hosts;
    std::vector<ClockFacts> clocks;    ///< by time; of hosts other than the recorder's
    std::vector<RankFacts> ranks;      ///< by rank
    std::vector<DeviceFacts> devices;  ///< by rank; of GPU ranks
    std::vector<LaneFacts> lanes;      ///< by rank, order
    SharedRows<StepFacts> steps;       ///< by step, rank
    SharedRows<MetricPoint> metrics;   ///< by time
    std::vector<MemoryTheory> memoryTheory;
    std::vector<FactRow> facts;           ///< by name, host, rank
    std::vector<ProcessFacts> processes;  ///< by host, start; none: no program but our own
    std::vector<Diagnostic> diagnostics;
    std::vector<DetailFacts> detail;  ///< by rank, first step; none: nothing was left out
    EventCounts events;               ///< stored
    std::uint64_t uncounted = 0;      ///< of them, what ranks had not counted when they were ended
    TimeRange bounds;                 ///< of everything stored
    Bytes fileSize;                   ///< main file and WAL
    Bytes chunkBytes;                 ///< compressed event data
    std::vector<LostRows> lostRows;   ///< by table; of files of format 1.3 and later
    bool complete = false;            ///< finalised by its writer

    // recording_tables.cpp
    RecordingSummary();
    RecordingSummary(const RecordingSummary& other);
    RecordingSummary(RecordingSummary&& other) noexcept;
    RecordingSummary& operator=(const RecordingSummary& other);
    RecordingSummary& operator=(RecordingSummary&& other) noexcept;
    ~RecordingSummary();
};
template <>
inline constexpr std::size_t kStatedMembers<RecordingSummary> = 20;

/// What analyses read: everything of one rank that is not an operator.
struct RankEvents {
    RankId rank;
    std::vector<SpanEvent> phases;             ///< lane role kCompute, correlation 0, by start
    std::vector<CollectiveEvent> collectives;  ///< by sequence; arrivals filled in from peers
    /// When a device computed and when collectives' kernels ran on it; any order.
    std::vector<TimeRange> computeKernels, communicationKernels;
    std::vector<CounterEvent> energy;  ///< joules drawn by the device since some time, by time
    /// Highest sum over categories, after calibration if there was one, and each category's bytes
    /// at that moment.
    Bytes peakMemory;
    Timestamp peakTime;
    std::array<Bytes, kMemoryCategoryCount> peakByCategory{};
    bool hasMemoryEvents = false;
};

}  // namespace shardscope
