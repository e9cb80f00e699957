// The small things of a recording: one struct a table row (storage/schema/FORMAT.md). Which member
// is which column says recording_tables.cpp.
#pragma once

#include "storage/model/detail.h"
#include "storage/model/events.h"
#include "storage/model/lanes.h"

#include <array>
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

struct HostFacts {
    std::int32_t host = 0;
    std::string name;
    std::string cpu;
    std::int32_t cores = 0;
    Bytes memory;
    std::string bootId;
    std::int64_t clockOffsetNs = 0;  ///< recording clock = host clock + offset
    std::int64_t clockErrorNs = 0;   ///< bound on the offset's error
};

/// A comparison of another host's clock with the recorder's, and what its ranks' times were
/// corrected by from then on. Until the first one HostFacts::clockOffsetNs holds.
struct ClockFacts {
    std::int32_t host = 0;
    Timestamp time;
    std::int64_t offsetNs = 0;  ///< recording clock = host clock + offset at `time`
    std::int64_t driftPpb = 0;  ///< by which the host's clock gains on the recorder's, ns a second
    std::int64_t errorNs = 0;   ///< bound on what was measured
    std::int64_t residualNs = 0;  ///< measured less what was in force until then
    bool stepped = false;         ///< the clock had been set: more than drift and error explain
};

/// How the source of a peak begins that its measurements do not agree on.
inline constexpr const char* kUnsurePeak = "unsure";

struct RankFacts {
    RankId rank;
    std::int32_t host = 0;
    std::int64_t pid = 0;
    std::string device;               ///< "cpu (1 thread)"
    std::optional<double> peakFlops;  ///< FLOP/s of this rank, measured or from the peak table
    /// How peakFlops was found, beginning with kUnsurePeak when it is not to be relied on; the
    /// reason when it is absent.
    std::string peakSource;
    std::uint64_t emitted = 0;  ///< events the rank produced (last word heard from it)
    std::uint64_t dropped = 0;  ///< of these, lost to full queues
    std::optional<std::int32_t> exitCode;
    std::optional<std::int32_t> exitSignal;
};

/// The accelerator of a rank; a CPU rank has none.
struct DeviceFacts {
    RankId rank;
    std::string name;      ///< "NVIDIA H200"
    std::string uuid;      ///< "GPU-..." or "MIG-..."
    std::string pciBusId;  ///< "0000:17:00.0"
    Bytes memory;
    std::string driver;                ///< "580.159.04"; empty: not known
    std::int32_t sharedBy = 1;         ///< ranks of the run on this device
    bool mig = false;                  ///< a slice of a device
    std::string attention;             ///< kernel that computes attention: "cudnn", "flash"
    std::string tracing;               ///< what traced it: "CUPTI 130001, full", or why nothing did
    std::optional<double> vendorPeak;  ///< FLOP/s, dense, at the run's precision
    std::string vendorPeakSource;      ///< data sheet; the reason when it is absent
    std::optional<double> measuredPeak;  ///< FLOP/s of matrix products at the run's own shapes
    std::string measuredPeakSource;
    std::int64_t clockErrorNs = 0;  ///< bound on how far device events may lie off the host clock
};

struct LaneFacts {
    RankId rank;
    LaneId lane;
    LaneRole role = LaneRole::kHost;
    std::string name;        ///< "compute", "operators", "communication", "memory: activations"
    std::string unit;        ///< counters only: "bytes", "ns", "1"
    std::int32_t order = 0;  ///< position within the rank, top first
};

/// One training step of one rank.
struct StepFacts {
    RankId rank;
    StepIndex step;
    Timestamp start;
    Timestamp end;
    std::int64_t tokens = 0;               ///< processed by this rank
    std::int32_t expectedGathers = -1;     ///< what the strategy implies; -1: not recorded at
    std::int32_t expectedReductions = -1;  ///< this capture level
    std::int32_t expectedPhases = -1;
    std::uint64_t emitted = 0;  ///< events of the rank up to the step's end
    std::uint64_t dropped = 0;
    std::int64_t cpuTimeNs = 0;  ///< process CPU time spent in the step
    Bytes residentSet;           ///< RSS at the step's end
    /// In which the step thread was ready to run and had no core; -1: not known, as of imported
    /// traces, of files before 2.2 and where the kernel does not tell.
    std::int64_t coreWaitNs = -1;
    /// Processor time of all cores of the rank's host that its hypervisor gave to others, counted
    /// to the step at whose end it was read (profiler/collectors/host/stolen_time.h); -1: not
    /// known.
    std::int64_t stolenNs = -1;

    [[nodiscard]] TimeRange range() const { return {start, end}; }
};

/// A training metric, once a step for the whole run (rank 0's word, already reduced).
struct MetricPoint {
    std::string name;  ///< "loss" "validation_loss" "learning_rate" "gradient_norm" "tokens_per_s"
    StepIndex step;
    Timestamp time;
    double value = 0;
};

/// What theory says a rank holds at its peak, by category.
struct MemoryTheory {
    RankId rank;
    MemoryCategory category = MemoryCategory::kOther;
    Bytes size;
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

/// All rows of a recording; a few hundred kilobytes even for long runs.
struct RecordingSummary {
    RunFacts run;
    std::vector<HostFacts> hosts;
    std::vector<ClockFacts> clocks;    ///< by time; of hosts other than the recorder's
    std::vector<RankFacts> ranks;      ///< by rank
    std::vector<DeviceFacts> devices;  ///< by rank; of GPU ranks
    std::vector<LaneFacts> lanes;      ///< by rank, order
    std::vector<StepFacts> steps;      ///< by step, rank
    std::vector<MetricPoint> metrics;  ///< by time
    std::vector<MemoryTheory> memoryTheory;
    std::vector<Diagnostic> diagnostics;
    std::vector<DetailFacts> detail;  ///< by rank, first step; none: nothing was left out
    EventCounts events;               ///< stored
    TimeRange bounds;                 ///< of everything stored
    Bytes fileSize;                   ///< main file and WAL
    Bytes chunkBytes;                 ///< compressed event data
    std::vector<LostRows> lostRows;   ///< by table; of files of format 1.3 and later
    bool complete = false;            ///< finalised by its writer
};

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
