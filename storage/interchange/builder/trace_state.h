// What the trace builder holds while it builds: ranks with their lanes, what waits to be stored,
// and the writer it is stored by. Included by the trace builder only. One thread.
#pragma once

#include "storage/interchange/builder/limits.h"
#include "storage/interchange/builder/pending_flows.h"
#include "storage/interchange/builder/rank_lanes.h"
#include "storage/interchange/builder/rank_steps.h"
#include "storage/interchange/event_runs.h"
#include "storage/interchange/trace_builder.h"
#include "storage/model/ids.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/file/output_file.h"
#include "storage/recording/write/recording_writer.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::interchange {

// Texts to ids in bounded memory. Part of the trace builder.
//
// Remembers what was asked for lately, in two generations: a text that is asked for again and
// again stays, one that was seen once is forgotten. A forgotten text gets another id when it comes
// again, which only costs a row.

class StringCache {
public:
    static constexpr std::size_t kGenerationBytes = std::size_t{8} << 20;

    explicit StringCache(std::size_t generationBytes = kGenerationBytes)
        : m_generationBytes(generationBytes), m_young(generationBytes), m_old(0) {}

    StringId intern(std::string_view text);

    /// Texts with new ids since the last take(), and the id of the first.
    [[nodiscard]] std::size_t newBytes() const { return m_newBytes; }
    struct Batch {
        StringId first;
        std::vector<std::string> texts;
    };
    [[nodiscard]] Batch take();

private:
    /// Open addressing over one block of text: no allocation an entry.
    class TextTable {
    public:
        explicit TextTable(std::size_t bytes);
        /// Nothing when it is not here.
        [[nodiscard]] std::optional<StringId> find(std::string_view text, std::size_t hash) const;
        /// false: it is full.
        [[nodiscard]] bool add(std::string_view text, std::size_t hash, StringId id);

    private:
        struct Slot {
            std::size_t hash = 0;
            std::uint32_t at = 0;
            std::uint32_t size = 0;
            StringId id;  ///< 0: free
        };
        std::size_t m_bytes;
        std::size_t m_count = 0;
        std::vector<Slot> m_slots;  ///< a power of two
        std::string m_text;
    };

    void remember(std::string_view text, std::size_t hash, StringId id);

    std::size_t m_generationBytes;
    TextTable m_young;
    TextTable m_old;
    std::uint32_t m_next = 1;  ///< 0 is the empty string
    std::size_t m_newBytes = 0;
    Batch m_new;
};

/// What a span gets that an arrow binds to.
struct ArrowMark {
    std::uint64_t correlation = 0;
    Phase phase = Phase::kNone;
};

struct BuiltRank {
    explicit BuiltRank(RankId rank) : id(rank), lanes(rank) {}

    RankId id;
    std::optional<RankFacts> facts;
    RankLanes lanes;
    RankSteps steps;
    PendingFlows flows;
    EventRuns<MemoryEvent> memory;
    std::vector<CollectiveEvent> collectives;
    /// By the span's lane and start.
    std::multimap<std::pair<LaneId, Timestamp>, ArrowMark> arrows;
    StringCache strings;
    std::unique_ptr<ArgumentSplitter> splitter;
    std::unique_ptr<ArgumentTable> arguments;
    std::uint32_t threads = 0;                         ///< numbers that were given away
    std::map<std::string, std::int64_t> held;          ///< bytes, by device
    std::map<std::uint32_t, std::uint64_t> sequences;  ///< by group: behind all that it has
    std::uint64_t events = 0;
    bool stored = false;                ///< some event of it is in the file
    bool shown = false;                 ///< a row of it is
    std::vector<StepFacts> stepsShown;  ///< rows of its steps that are, until the end
};

inline constexpr TimeRange kNothingSeen{{kStorableTime}, {-kStorableTime}};

struct TraceBuilder::State {
    State(storage::OutputFile file, storage::RecordingWriter recording, RunFacts facts)
        : output(std::move(file)), writer(std::move(recording)), run(std::move(facts)) {}

    storage::OutputFile output;  ///< outlives the writer, which closes the file
    std::optional<storage::RecordingWriter> writer;
    RunFacts run;  ///< as it is in the file
    std::map<RankId, BuiltRank> ranks;
    std::set<std::int32_t> hosts;         ///< that have a row
    std::set<std::int32_t> assumedHosts;  ///< have one until the end, unless they turn out to be
    Result<void> status;
    std::size_t buffered = 0;         ///< events that wait, of all lanes
    std::size_t bufferedNumbers = 0;  ///< of arguments
    int chunksSinceCommit = 0;
    bool isPublished = false;           ///< what is committed can be made sense of
    Timestamp earliest{kStorableTime};  ///< of inputs before this one
    TimeRange ofInput = kNothingSeen;
    Timestamp latest{-kStorableTime};  ///< start of a span
    SplitArguments scratch;

    void note(Result<void> done) {
        if (status && !done) status = output.failed(done.error());
    }
    void refuse(const std::string& sentence) { note(failure(ErrorCode::kUnreadable, sentence)); }

    [[nodiscard]] BuiltRank& rank(RankId id) {
        if (lastRank == nullptr || lastRank->id != id) {
            lastRank = &ranks.try_emplace(id, id).first->second;
            lastLane = nullptr;
        }
        return *lastRank;
    }
    /// Null when the reader never declared it.
    [[nodiscard]] BuiltLane* lane(RankId rankId, LaneId id) {
        BuiltRank& owner = rank(rankId);
        if (lastLane == nullptr || lastLane->facts.lane != id) lastLane = owner.lanes.find(id);
        return lastLane;
    }

    /// An event at this time is kept.
    void seen(Timestamp time) {
        ofInput.begin = std::min(ofInput.begin, time);
        ofInput.end = std::max(ofInput.end, time);
    }
    void added(BuiltRank& owner) {
        ++owner.events;
        if (++buffered > kMostBuffered || bufferedNumbers > kMostNumbers) relieve();
    }
    /// Split arguments, or none.
    template <class... Arguments>
    void addSpan(RankId id, const SpanEvent& event, const Arguments&... arguments) {
        if (!isStorable(event.start) || event.duration.ns < 0 || event.duration.ns > kStorableTime)
            return refuse("an event's time is out of range");
        BuiltLane* into = lane(id, event.lane);
        if (into == nullptr) return refuse("an event lies on a lane that was never declared");
        seen(event.start);
        latest = std::max(latest, event.start);
        into->needed = true;
        if (into->facts.role == LaneRole::kRuntime && event.correlation != 0)
            rank(id).steps.addLaunch(event.correlation, event.start);
        const std::size_t before = into->spans.numbers();
        into->spans.add(event, arguments...);
        bufferedNumbers += into->spans.numbers() - before;
        if (into->spans.size() >= kFullWindow)
            storeSpans(rank(id), *into, columns::kMaxChunkEvents);
        added(rank(id));
    }
    template <class... Arguments>
    void addInstant(RankId id, const InstantEvent& event, const Arguments&... arguments) {
        if (!isStorable(event.time)) return refuse("an instant's time is out of range");
        BuiltLane* into = lane(id, event.lane);
        if (into == nullptr) return refuse("an instant lies on a lane that was never declared");
        seen(event.time);
        into->needed = true;
        const std::size_t before = into->instants.numbers();
        into->instants.add(event, arguments...);
        bufferedNumbers += into->instants.numbers() - before;
        if (into->instants.size() >= kFullWindow)
            storeInstants(rank(id), *into, columns::kMaxChunkEvents);
        added(rank(id));
    }
    /// Time and size can be stored; else it is refused.
    [[nodiscard]] bool isSound(const MemoryEvent& event);

    [[nodiscard]] StringId intern(RankId id, std::string_view text);
    [[nodiscard]] ArgumentTable& argumentTable(BuiltRank& owner);
    /// In `scratch`, until the next call.
    [[nodiscard]] const SplitArguments& split(RankId id, std::string_view arguments);
    /// Makes the rank's splitter at the first call.
    [[nodiscard]] ArgumentSplitter& splitter(BuiltRank& owner);
    /// The id of arguments that are stored at once; 0 without any.
    [[nodiscard]] StringId storeArguments(RankId id, std::string_view arguments);

    /// Rows that make sense of what is stored, and what is not committed yet.
    void publish();
    void publishRows(BuiltRank& owner);
    void publishSteps(BuiltRank& owner);
    void removeAssumedHosts();

    void storeSpans(BuiltRank& owner, BuiltLane& from, std::size_t count);
    void storeInstants(BuiltRank& owner, BuiltLane& from, std::size_t count);
    void storeSamples(BuiltRank& owner, BuiltLane& from, std::size_t count);
    void storeCollectives(BuiltRank& owner);
    void finishRank(BuiltRank& owner);
    void noteOverruns(BuiltRank& owner);

private:
    void store(const columns::ChunkBytes& chunk);
    void storeStrings(BuiltRank& owner);
    void storeFlows(BuiltRank& owner);
    void storeMemory(BuiltRank& owner);
    void relieve();
    void addHost(std::int32_t host);

    BuiltRank* lastRank = nullptr;
    BuiltLane* lastLane = nullptr;  ///< of lastRank
};

}  // namespace shardscope::interchange
