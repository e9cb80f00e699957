// Reads a recording. An interface, so that later a recording can be read where it lies.
//
// One reader belongs to one thread, and decodes on several of its own. Works on finished files, on
// files being written (WAL) and on files whose writer died. Never writes to the file.
#pragma once

#include "storage/model/collective_key.h"
#include "storage/model/recording.h"
#include "storage/model/result.h"
#include "storage/recording/read/generation.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::storage {

/// A stretch of a lane ready to be drawn: one event, or many that share a pixel.
struct LaneSlice {
    TimeRange range;
    StringId name;                  ///< of the event, or of the dominant one
    std::uint32_t count = 1;        ///< events merged into this slice
    Duration busy;                  ///< covered by events within range
    std::uint64_t correlation = 0;  ///< of the event when count is 1
    LayerIndex layer = kNoLayer;    ///< of the event or the dominant one
    StepIndex step = kNoStep;
    Phase phase = Phase::kNone;
    std::uint8_t depth = 0;
    StringId arguments;
    bool instant = false;  ///< of a lane of instants: range is where the first and last are
};

struct CounterSlice {
    TimeRange range;
    double minimum = 0;
    double maximum = 0;
    double last = 0;
};

/// One arrow: its start, its steps, its end, by time. Either end may be missing.
using FlowArrow = std::vector<FlowEvent>;

/// What is on screen, and which request it is: one that a newer has superseded ends soon with
/// kCancelled.
struct View {
    TimeRange range;
    Duration resolution;  ///< time a pixel
    Generation generation;
};

/// An SQL answer, cells as text; nullopt is SQL NULL. Real numbers have all their digits.
struct TableResult {
    enum class CellType : std::uint8_t { kNull, kInteger, kReal, kText };
    std::vector<std::string> columns;
    std::vector<std::vector<std::optional<std::string>>> rows;
    std::vector<std::vector<CellType>> types;  ///< of the cells of `rows`
    bool cut = false;                          ///< there are more rows than were asked for
};
constexpr auto wordsOf(TableResult::CellType) {
    using Type = TableResult::CellType;
    return wordList<Word<Type>>({{Type::kNull, "null"},
                                 {Type::kInteger, "integer"},
                                 {Type::kReal, "real"},
                                 {Type::kText, "text"}});
}

/// Any question and where its answer goes (questions.h).
struct AnyRequest;

/// Which chunks a finished file has: a long run has millions, read once for all readers of the
/// file. Never changes (local_reader.h).
struct KnownChunks;

class RecordingReader {
public:
    virtual ~RecordingReader() = default;

    /// For openRecording() of the same file by another thread; null where the file may still
    /// change, or lies on another host.
    [[nodiscard]] virtual std::shared_ptr<const KnownChunks> knownChunks() const { return nullptr; }

    /// Reads all rows again (a recording may still be growing).
    Result<RecordingSummary> summary();

    /// Text of a rank's string; empty when unknown. That of a span's arguments is JSON, may be
    /// empty though the id is not, and is valid until the next call; others stay valid.
    virtual std::string_view text(RankId rank, StringId id) = 0;

    /// Phases, collectives and memory peak of one rank within `range` (whole run: bounds).
    Result<RankEvents> rankEvents(RankId rank, TimeRange range);

    /// Those collectives of a rank that it has, by group and sequence; `keys` in any order.
    Result<std::vector<CollectiveEvent>> collectives(RankId rank,
                                                     const std::vector<CollectiveKey>& keys);

    /// Spans of one lane that intersect `range`, by start.
    Result<std::vector<SpanEvent>> spans(RankId rank, LaneId lane, TimeRange range);

    /// Those of them whose name or arguments are one of `texts`, which are sorted.
    Result<std::vector<SpanEvent>> spansNaming(RankId rank, LaneId lane, TimeRange range,
                                               const std::vector<StringId>& texts);

    /// What to draw of many lanes, in their order: merged slices from the pyramid where a bucket is
    /// not coarser than a pixel, else single events. Each lane by depth, then start; a lane that
    /// does not exist shows nothing.
    Result<std::vector<std::vector<LaneSlice>>> spans(const std::vector<LaneAddress>& lanes,
                                                      const View& view);

    /// Likewise for counter lanes; the first slice of each starts with the value in force at
    /// range.begin.
    Result<std::vector<std::vector<CounterSlice>>> counters(const std::vector<LaneAddress>& lanes,
                                                            const View& view);

    /// The same of one lane.
    Result<std::vector<LaneSlice>> slices(RankId rank, LaneId lane, TimeRange range,
                                          Duration resolution);
    Result<std::vector<CounterSlice>> counter(RankId rank, LaneId lane, TimeRange range,
                                              Duration resolution);

    /// Samples of a counter lane within `range`, by time, with the last one before it in front.
    Result<std::vector<CounterEvent>> samples(RankId rank, LaneId lane, TimeRange range);

    Result<std::vector<MemoryEvent>> memoryEvents(RankId rank, TimeRange range);

    /// Blocks alive at `time`, largest first.
    Result<std::vector<MemoryEvent>> liveMemory(RankId rank, Timestamp time);

    /// Instants of a lane within `range`, by time.
    Result<std::vector<InstantEvent>> instants(RankId rank, LaneId lane, TimeRange range);

    /// Flow events on a lane within `range`, by time.
    Result<std::vector<FlowEvent>> flows(RankId rank, LaneId lane, TimeRange range);

    /// The arrows that begin, pass or end at the span of a lane that begins at `start`, `depth`
    /// deep. Looks through all flow events of the rank.
    Result<std::vector<FlowArrow>> arrowsOf(RankId rank, LaneId lane, Timestamp start,
                                            std::uint8_t depth);

    /// A read-only SQL statement, with the virtual table `events` and the views on it.
    Result<TableResult> query(const std::string& sql, std::uint64_t mostRows = 0,
                              const Generation& generation = {});

    /// What all of the others ask (questions.h). Leaves the answer's place as it was on errors.
    virtual Result<void> answer(const AnyRequest& request) = 0;
};

/// Errors are kUnreadable: no such file, not a recording, truncated beyond use, or written by
/// a newer major version (named in the message). The reader decodes on at most `threads` threads,
/// its own one among them; 0 is as many as the hardware has. What it answers is always the same.
/// `known`: of another reader; not used where the file is not the one it was read of.
Result<std::unique_ptr<RecordingReader>> openRecording(
    const std::string& path, std::size_t threads = 0,
    const std::shared_ptr<const KnownChunks>& known = nullptr);

// All strings of a rank, for who looks for one: names of events, and their arguments where those
// are stored whole. Works through any reader.

struct RankStrings {
    std::vector<std::pair<StringId, std::string>> texts;  ///< by id
    /// Some events have arguments beside these, put together for each (text() of higher ids).
    bool hasArguments = false;
};
Result<RankStrings> readStrings(RecordingReader& reader, RankId rank);

}  // namespace shardscope::storage
