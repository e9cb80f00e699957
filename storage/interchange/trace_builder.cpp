#include "storage/interchange/trace_builder.h"

#include "storage/columns/chunk.h"
#include "storage/interchange/event_runs.h"
#include "storage/interchange/flow_binder.h"
#include "storage/interchange/output_file.h"
#include "storage/interchange/pending_events.h"
#include "storage/interchange/string_cache.h"
#include "storage/recording/write/recording_writer.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace shardscope::interchange {
namespace {

/// An event may come this many places late in its lane and still be stored in order.
constexpr std::size_t kWindow = 16'384;
constexpr std::size_t kFull = columns::kMaxChunkEvents + kWindow;
/// Of all lanes together; beyond it the longest window is stored early. About 30 MB.
constexpr std::size_t kMostBuffered = 600'000;
/// Of their arguments, 8 bytes each.
constexpr std::size_t kMostNumbers = std::size_t{8} << 20;
constexpr std::size_t kStringBatchBytes = std::size_t{1} << 20;
constexpr int kChunksACommit = 64;
/// A trace with more rows than this is broken or hostile, and every lane costs memory.
constexpr std::uint32_t kMostLanesAKind = 4096;
constexpr std::size_t kMostLanes = 4 * kMostLanesAKind;
/// Beyond this an event cannot be stored (storage/schema/FORMAT.md).
constexpr std::int64_t kTimeLimit = std::int64_t{1} << 60;

/// Top first: ranges, threads, streams, counters.
std::int32_t positionOf(LaneRole role, std::int32_t index) {
    switch (role) {
        case LaneRole::kRange:
            return index;
        case LaneRole::kHost:
        case LaneRole::kRuntime:
        case LaneRole::kSync:
            return 100'000 + index;
        case LaneRole::kCounter:
            return 300'000 + index;
        default:
            return 200'000 + index;
    }
}

bool inRange(Timestamp time) {
    return time.ns >= -kTimeLimit && time.ns <= kTimeLimit;
}

struct Lane {
    LaneFacts facts;
    bool needed = true;  ///< has a row even if nothing lies on it
    PendingEvents<SpanEvent> spans;
    PendingEvents<InstantEvent> instants;
    EventWindow<CounterEvent> samples;
    DepthRows rows;
};

/// What a span gets that an arrow binds to.
struct ArrowMark {
    std::uint64_t correlation = 0;
    Phase phase = Phase::kNone;
};

struct Rank {
    std::optional<RankFacts> facts;
    std::multimap<std::pair<LaneId, Timestamp>, ArrowMark>
        arrows;  ///< by the span's lane and start
    std::map<LaneSource, LaneId> keys;
    std::map<LaneId, Lane> lanes;
    std::map<std::uint32_t, std::uint32_t> lanesFrom;  ///< made, by the first lane of their range
    EventRuns<MemoryEvent> memory;
    EventRuns<FlowEvent> flows;  ///< lane: the thread, until they are bound
    EventRuns<FlowEvent> boundFlows;
    struct Thread {
        LaneId home;                ///< of flows that bind to nothing
        std::vector<LaneId> lanes;  ///< with spans
        std::unique_ptr<FlowBinder> binder;
    };
    std::map<std::uint32_t, Thread> threads;  ///< that have flows
    std::vector<CollectiveEvent> collectives;
    StringCache strings;
    std::unique_ptr<ArgumentSplitter> splitter;
    std::unique_ptr<ArgumentTable> arguments;
    std::uint64_t events = 0;
    std::shared_ptr<StepMarks> marks;                ///< null: events have their steps themselves
    bool marksKnown = false;                         ///< all of them, before the first event came
    std::map<StepNaming, StepMarks::ByBegin> steps;  ///< by how they are named
    StepNaming inUse = StepNaming::kProfilerStep;    ///< whose are in `marks`
    Timestamp storedThrough{-kTimeLimit};            ///< latest start of a stored event
};

bool repeats(const StepMarks::ByBegin& marks) {
    std::set<StepIndex> numbers;
    for (const auto& [begin, mark] : marks)
        if (!numbers.insert(mark.step).second) return true;
    return false;
}

/// Numbers that repeat are those of parts of a step; but a profiler may start again at 0.
StepNaming chosenNaming(const Rank& owner) {
    for (const auto& [naming, marks] : owner.steps)
        if (naming == StepNaming::kProfilerStep || !repeats(marks)) return naming;
    return owner.steps.empty() ? StepNaming::kProfilerStep : owner.steps.begin()->first;
}

}  // namespace

struct TraceBuilder::State {
    State(OutputFile file, storage::RecordingWriter recording)
        : output(std::move(file)), writer(std::move(recording)) {}

    OutputFile output;  ///< outlives the writer, which closes the file
    std::optional<storage::RecordingWriter> writer;
    std::map<RankId, Rank> ranks;
    std::set<std::int32_t> hosts;  ///< that have a row
    Result<void> status;
    std::size_t buffered = 0;
    std::size_t bufferedNumbers = 0;  ///< of arguments
    int chunksSinceCommit = 0;
    Timestamp earliest{kTimeLimit};
    Timestamp latest{-kTimeLimit};  ///< start of a span
    bool stepsCameLate = false;
    SplitArguments scratch;

    RankId lastRankId;
    Rank* lastRank = nullptr;
    LaneId lastLaneId;
    Lane* lastLane = nullptr;

    void note(Result<void> done) {
        if (status && !done) status = output.failed(done.error());
    }
    void refuse(const std::string& sentence) { note(failure(ErrorCode::kUnreadable, sentence)); }

    Rank& rank(RankId id) {
        if (lastRank == nullptr || lastRankId != id) {
            lastRank = &ranks[id];
            lastRankId = id;
            lastLane = nullptr;
        }
        return *lastRank;
    }
    /// Null when the reader never declared it.
    Lane* lane(RankId rankId, LaneId id) {
        Rank& owner = rank(rankId);
        if (lastLane != nullptr && lastLaneId == id) return lastLane;
        const auto at = owner.lanes.find(id);
        if (at == owner.lanes.end()) return nullptr;
        lastLane = &at->second;
        lastLaneId = id;
        return lastLane;
    }

    void store(const columns::ChunkBytes& chunk) {
        if (!status) return;
        note(writer->addChunk(chunk));
        if (++chunksSinceCommit < kChunksACommit) return;
        chunksSinceCommit = 0;
        note(writer->flush());
    }
    void storeStrings(RankId id, Rank& owner) {
        const StringCache::Batch batch = owner.strings.take();
        if (status && !batch.texts.empty()) note(writer->addStrings(id, batch.first, batch.texts));
    }
    void storeSpans(RankId id, Lane& from, std::size_t count) {
        std::vector<SpanEvent> spans = from.spans.take(count);
        buffered -= spans.size();
        for (SpanEvent& span : spans) from.rows.place(span);
        deriveSteps(rank(id), spans);
        bindArrows(rank(id), from.facts.lane, spans);
        const std::size_t before = from.spans.numbers();
        if (before > 0) note(from.spans.resolve(spans, argumentTable(id)));
        bufferedNumbers -= before - from.spans.numbers();
        for (std::size_t at = 0; at < spans.size(); at += columns::kStoredChunkEvents)
            store(columns::encodeSpans(id, part(spans, at)));
    }
    /// In order of time, about to be stored.
    template <class Event>
    static void deriveSteps(Rank& owner, std::span<Event> events) {
        if (owner.marks == nullptr || events.empty()) return;
        for (Event& event : events)
            if (event.step == kNoStep) event.step = stepOf(*owner.marks, event);
        owner.storedThrough = std::max(owner.storedThrough, timeOf(events.back()));
    }
    static void deriveSteps(Rank& owner, std::vector<SpanEvent>& events) {
        deriveSteps(owner, std::span(events));
    }
    /// Spans of one lane in order, enclosing ones first.
    static void bindArrows(Rank& owner, LaneId lane, std::vector<SpanEvent>& spans) {
        if (owner.arrows.empty()) return;
        for (std::size_t i = 0; i < spans.size(); ++i) {
            const bool innermost = i + 1 == spans.size() || spans[i + 1].start != spans[i].start;
            if (!innermost || spans[i].correlation != 0) continue;
            const auto arrow = owner.arrows.find({lane, spans[i].start});
            if (arrow == owner.arrows.end()) continue;
            spans[i].correlation = arrow->second.correlation;
            spans[i].phase = arrow->second.phase;
            owner.arrows.erase(arrow);
        }
    }
    void storeInstants(RankId id, Lane& from, std::size_t count) {
        std::vector<InstantEvent> instants = from.instants.take(count);
        buffered -= instants.size();
        deriveSteps(rank(id), std::span(instants));
        const std::size_t before = from.instants.numbers();
        if (before > 0) note(from.instants.resolve(instants, argumentTable(id)));
        bufferedNumbers -= before - from.instants.numbers();
        for (std::size_t at = 0; at < instants.size(); at += columns::kStoredChunkEvents)
            store(columns::encodeInstants(id, part(instants, at)));
    }
    /// All spans are stored.
    void storeFlows(RankId id, Rank& owner) {
        note(owner.boundFlows.drain(
            [&](std::span<FlowEvent> events) { store(columns::encodeFlows(id, events)); }));
        note(owner.flows.drain([&](std::span<FlowEvent> events) {
            if (status) note(bindFlows(id, owner, events));
            store(columns::encodeFlows(id, events));
        }));
    }
    Result<void> bindFlows(RankId id, Rank& owner, std::span<FlowEvent> events) {
        std::map<std::uint32_t, std::vector<FlowEvent*>> ofThreads;
        for (FlowEvent& event : events) ofThreads[event.lane.value].push_back(&event);
        for (auto& [number, flows] : ofThreads) {
            Rank::Thread& thread = owner.threads[number];
            if (thread.binder == nullptr)
                thread.binder = std::make_unique<FlowBinder>(
                    [this, id, &thread](TimeRange range) { return spansOf(id, thread, range); },
                    latest);
            for (FlowEvent* flow : flows) flow->lane = thread.home;
            if (auto bound = thread.binder->bind(flows); !bound) return bound;
            for (FlowEvent* flow : flows) {
                if (!flow->bound) owner.lanes[thread.home].needed = true;
                if (flow->step == kNoStep && !flow->bound && owner.marks != nullptr)
                    flow->step = owner.marks->at(flow->time);
            }
        }
        return {};
    }
    Result<std::vector<SpanEvent>> spansOf(RankId id, const Rank::Thread& thread, TimeRange range) {
        std::vector<SpanEvent> all;
        for (const LaneId lane : thread.lanes) {
            auto spans = writer->storedSpans(id, lane, range);
            if (!spans) return spans;
            all.insert(all.end(), spans->begin(), spans->end());
        }
        return all;
    }
    static StepIndex stepOf(StepMarks& marks, const SpanEvent& span) {
        return isStreamLane(span.lane) ? marks.ofLaunched(span.correlation, span.start)
                                       : marks.at(span.start);
    }
    static StepIndex stepOf(const StepMarks& marks, const MemoryEvent& event) {
        return marks.at(event.time);
    }
    static StepIndex stepOf(const StepMarks& marks, const InstantEvent& event) {
        return marks.at(event.time);
    }
    static StepIndex stepOf(const StepMarks& marks, const CollectiveEvent& event) {
        return marks.at(event.issue);
    }
    static Timestamp timeOf(const SpanEvent& span) { return span.start; }
    static Timestamp timeOf(const MemoryEvent& event) { return event.time; }
    static Timestamp timeOf(const InstantEvent& event) { return event.time; }
    static Timestamp timeOf(const CollectiveEvent& event) { return event.start; }
    ArgumentTable& argumentTable(RankId id) {
        Rank& owner = rank(id);
        if (owner.arguments == nullptr)
            owner.arguments = std::make_unique<ArgumentTable>(
                [this, id](StringId first, const columns::ArgumentRows& rows) {
                    return writer->addArguments(id, first, rows);
                });
        return *owner.arguments;
    }
    ArgumentSplitter& splitter(RankId id) {
        Rank& owner = rank(id);
        if (owner.splitter == nullptr)
            owner.splitter = std::make_unique<ArgumentSplitter>(
                [this, id](std::string_view text) { return intern(id, text); });
        return *owner.splitter;
    }
    StringId intern(RankId id, std::string_view text) {
        Rank& owner = rank(id);
        const StringId string = owner.strings.intern(text);
        if (owner.strings.newBytes() > kStringBatchBytes) storeStrings(id, owner);
        return string;
    }
    /// Split arguments, or none.
    template <class... Arguments>
    void addSpan(RankId id, const SpanEvent& event, const Arguments&... arguments) {
        if (!inRange(event.start) || event.duration.ns < 0 || event.duration.ns > kTimeLimit)
            return refuse("an event's time is out of range");
        Lane* into = lane(id, event.lane);
        if (into == nullptr) return refuse("an event lies on a lane that was never declared");
        earliest = std::min(earliest, event.start);
        latest = std::max(latest, event.start);
        into->needed = true;
        if (into->facts.role == LaneRole::kRuntime && event.correlation != 0)
            if (Rank& owner = rank(id); owner.marks != nullptr)
                owner.marks->addLaunch(event.correlation, event.start);
        const std::size_t before = into->spans.numbers();
        into->spans.add(event, arguments...);
        bufferedNumbers += into->spans.numbers() - before;
        if (into->spans.size() >= kFull) storeSpans(id, *into, columns::kMaxChunkEvents);
        added(rank(id));
    }
    template <class... Arguments>
    void addInstant(RankId id, const InstantEvent& event, const Arguments&... arguments) {
        if (!inRange(event.time)) return refuse("an instant's time is out of range");
        Lane* into = lane(id, event.lane);
        if (into == nullptr) return refuse("an instant lies on a lane that was never declared");
        earliest = std::min(earliest, event.time);
        into->needed = true;
        const std::size_t before = into->instants.numbers();
        into->instants.add(event, arguments...);
        bufferedNumbers += into->instants.numbers() - before;
        if (into->instants.size() >= kFull) storeInstants(id, *into, columns::kMaxChunkEvents);
        added(rank(id));
    }
    /// The id of arguments that are stored at once; 0 without any.
    StringId storeArguments(RankId id, std::string_view arguments) {
        if (arguments.empty()) return {};
        scratch.values.clear();
        scratch.form = splitter(id).split(arguments, scratch.values);
        return argumentTable(id).add(scratch.form, scratch.values);
    }
    void storeSamples(RankId id, Lane& from, std::size_t count) {
        const std::vector<CounterEvent> samples = from.samples.take(count);
        buffered -= samples.size();
        for (std::size_t at = 0; at < samples.size(); at += columns::kStoredChunkEvents)
            store(columns::encodeCounters(id, part(samples, at)));
    }
    void storeMemory(RankId id, Rank& owner) {
        note(owner.memory.drain([&](std::span<MemoryEvent> events) {
            deriveSteps(owner, events);
            store(columns::encodeMemory(id, events));
        }));
    }
    void storeCollectives(RankId id, Rank& owner) {
        if (owner.collectives.empty()) return;
        std::stable_sort(
            owner.collectives.begin(), owner.collectives.end(),
            [](const CollectiveEvent& a, const CollectiveEvent& b) { return a.start < b.start; });
        deriveSteps(owner, std::span(owner.collectives));
        store(columns::encodeCollectives(id, owner.collectives));
        buffered -= owner.collectives.size();
        owner.collectives.clear();
    }
    template <class Event>
    static std::span<const Event> part(const std::vector<Event>& events, std::size_t at) {
        return std::span(events).subspan(at,
                                         std::min(events.size() - at, columns::kStoredChunkEvents));
    }

    /// Too much waits in many lanes: stores most of the longest one.
    void relieve() {
        RankId owner;
        Lane* longest = nullptr;
        // An event is about 60 bytes.
        const auto waiting = [](const Lane& l) {
            return l.spans.size() + l.instants.size() + l.samples.size() +
                   (l.spans.numbers() + l.instants.numbers()) / 8;
        };
        for (auto& [id, r] : ranks) {
            for (auto& [laneId, l] : r.lanes) {
                if (longest != nullptr && waiting(l) <= waiting(*longest)) continue;
                longest = &l;
                owner = id;
            }
        }
        if (longest == nullptr) return;
        storeSpans(owner, *longest, longest->spans.size() / 4 * 3 + 1);
        storeInstants(owner, *longest, longest->instants.size() / 4 * 3 + 1);
        storeSamples(owner, *longest, longest->samples.size() / 4 * 3 + 1);
    }
    void added(Rank& owner) {
        ++owner.events;
        if (++buffered > kMostBuffered || bufferedNumbers > kMostNumbers) relieve();
    }
    /// A rank's host must have a row, even if nothing is known of it.
    void addHost(std::int32_t host) {
        HostFacts unknown;
        unknown.host = host;
        if (status) note(writer->addHost(unknown));
    }
    bool isSound(const MemoryEvent& event);
    void storeSteps(RankId id, const Rank& owner);
    void finishRank(RankId id, Rank& owner);
};

/// A profiler that was started again may count from 0 again: a step is found by its number, so the
/// first of a number is the one that has a row.
void TraceBuilder::State::storeSteps(RankId id, const Rank& owner) {
    std::set<StepIndex> numbers;
    Timestamp end{-kTimeLimit};
    const auto chosen = owner.steps.find(chosenNaming(owner));
    if (chosen == owner.steps.end()) return;
    for (const auto& [begin, mark] : chosen->second) {
        if (begin < end || !numbers.insert(mark.step).second) continue;
        end = mark.range.end;
        StepFacts step;
        step.rank = id;
        step.step = mark.step;
        step.start = begin;
        step.end = end;
        if (status) note(writer->addStep(step));
    }
}

void TraceBuilder::State::finishRank(RankId id, Rank& owner) {
    for (auto& [laneId, l] : owner.lanes) {
        storeSpans(id, l, l.spans.size());
        storeInstants(id, l, l.instants.size());
        storeSamples(id, l, l.samples.size());
    }
    if (status && owner.arguments != nullptr) note(owner.arguments->flush());
    storeFlows(id, owner);
    for (auto& [laneId, l] : owner.lanes)
        if (status && l.needed) note(writer->addLane(l.facts));
    storeMemory(id, owner);
    storeCollectives(id, owner);
    storeStrings(id, owner);
    storeSteps(id, owner);
    RankFacts facts = owner.facts.value_or(RankFacts{});
    facts.rank = id;
    facts.emitted = owner.events;
    if (hosts.insert(facts.host).second) addHost(facts.host);
    if (status) note(writer->putRank(facts));
}

Result<TraceBuilder> TraceBuilder::create(const std::string& path, const RunFacts& run,
                                          bool overwrite) {
    auto output = OutputFile::reserve({path, overwrite});
    if (!output) return failure(output);
    auto writer = storage::RecordingWriter::create(output->part(), run, true);
    if (!writer) return output->failed(writer.error());
    return TraceBuilder(std::make_unique<State>(std::move(*output), std::move(*writer)));
}

TraceBuilder::TraceBuilder(std::unique_ptr<State> state) : m_state(std::move(state)) {}
TraceBuilder::TraceBuilder(TraceBuilder&&) noexcept = default;
TraceBuilder& TraceBuilder::operator=(TraceBuilder&&) noexcept = default;
TraceBuilder::~TraceBuilder() = default;

void TraceBuilder::putRank(const RankFacts& rank) {
    m_state->rank(rank.rank).facts = rank;
}
void TraceBuilder::putDevice(const DeviceFacts& device) {
    m_state->note(m_state->writer->putDevice(device));
}
void TraceBuilder::addHost(const HostFacts& host) {
    m_state->hosts.insert(host.host);
    m_state->note(m_state->writer->addHost(host));
}

LaneId TraceBuilder::lane(RankId rank, const LaneSource& key, LaneRole role,
                          const std::string& name, const std::string& unit) {
    Rank& owner = m_state->rank(rank);
    if (const auto at = owner.keys.find(key); at != owner.keys.end()) {
        LaneFacts& facts = owner.lanes[at->second].facts;
        if (facts.role == LaneRole::kHost && role != LaneRole::kHost) {
            facts.role = role;
            facts.order = positionOf(role, facts.order % 100'000);
        }
        if (!name.empty()) facts.name = name;
        return at->second;
    }
    const LaneRange range = lanes::rangeFor(role);
    std::uint32_t& count = owner.lanesFrom[range.first];
    if (count == kMostLanesAKind - 1) {
        m_state->refuse("the trace has more than " + std::to_string(count) + " " + toWord(role) +
                        " lanes in rank " + std::to_string(rank.value) +
                        ": it is damaged, or no trace of a program");
        return range.at(0);
    }
    const LaneId id = range.at(count++);
    const auto index = static_cast<std::int32_t>(owner.keys.size());
    owner.keys.emplace(key, id);
    owner.lanes[id].facts = {rank, id, role, name, unit, positionOf(role, index)};
    return id;
}

LaneId TraceBuilder::laneIfUsed(RankId rank, const LaneSource& key, LaneRole role,
                                const std::string& name) {
    Rank& owner = m_state->rank(rank);
    const bool known = owner.keys.contains(key);
    const LaneId id = lane(rank, key, role, name);
    if (const auto made = owner.lanes.find(id); !known && made != owner.lanes.end())
        made->second.needed = false;
    return id;
}

void TraceBuilder::declare(const LaneFacts& lane) {
    Rank& owner = m_state->rank(lane.rank);
    if (owner.lanes.size() >= kMostLanes)
        return m_state->refuse("the trace has more than " + std::to_string(owner.lanes.size()) +
                               " lanes in rank " + std::to_string(lane.rank.value) +
                               ": it is damaged, or no trace of a program");
    owner.lanes[lane.lane].facts = lane;
}

StringId TraceBuilder::intern(RankId rank, std::string_view text) {
    return m_state->intern(rank, text);
}

void TraceBuilder::add(RankId rank, const SpanEvent& event) {
    m_state->addSpan(rank, event);
}

void TraceBuilder::add(RankId rank, const SpanEvent& event, std::string_view arguments) {
    if (arguments.empty()) return add(rank, event);
    SplitArguments& split = m_state->scratch;
    split.values.clear();
    split.form = m_state->splitter(rank).split(arguments, split.values);
    add(rank, event, split);
}

void TraceBuilder::split(RankId rank, std::span<const Member> arguments, bool nonFinite,
                         SplitArguments& into) {
    into.values.clear();
    into.form = {};
    if (!arguments.empty())
        into.form = m_state->splitter(rank).split(arguments, nonFinite, into.values);
}

void TraceBuilder::add(RankId rank, const SpanEvent& event, const SplitArguments& arguments) {
    if (arguments.form.text == kEmptyString) return add(rank, event);
    m_state->addSpan(rank, event, arguments);
}

void TraceBuilder::mark(RankId rank, LaneId lane, Timestamp start, std::uint64_t correlation,
                        Phase phase) {
    m_state->rank(rank).arrows.emplace(std::pair{lane, start}, ArrowMark{correlation, phase});
}

void TraceBuilder::add(RankId rank, const InstantEvent& event, std::string_view arguments) {
    if (arguments.empty()) return m_state->addInstant(rank, event);
    SplitArguments& split = m_state->scratch;
    split.values.clear();
    split.form = m_state->splitter(rank).split(arguments, split.values);
    m_state->addInstant(rank, event, split);
}

void TraceBuilder::add(RankId rank, const InstantEvent& event, const SplitArguments& arguments) {
    if (arguments.form.text == kEmptyString) return m_state->addInstant(rank, event);
    m_state->addInstant(rank, event, arguments);
}

void TraceBuilder::add(RankId rank, std::uint32_t thread, const FlowEvent& event,
                       std::string_view arguments) {
    if (!inRange(event.time)) return m_state->refuse("a flow's time is out of range");
    m_state->earliest = std::min(m_state->earliest, event.time);
    Rank& owner = m_state->rank(rank);
    owner.threads[thread].home = event.lane;
    FlowEvent waiting = event;
    waiting.lane = {thread};
    waiting.arguments = m_state->storeArguments(rank, arguments);
    owner.flows.add(waiting);
    ++owner.events;
}

void TraceBuilder::addAsItIs(RankId rank, const FlowEvent& event, std::string_view arguments) {
    if (!inRange(event.time) || !inRange(event.spanStart))
        return m_state->refuse("a flow's time is out of range");
    if (m_state->lane(rank, event.lane) == nullptr)
        return m_state->refuse("a flow lies on a lane that was never declared");
    m_state->earliest = std::min(m_state->earliest, event.time);
    Rank& owner = m_state->rank(rank);
    FlowEvent with = event;
    with.arguments = m_state->storeArguments(rank, arguments);
    owner.boundFlows.add(with);
    ++owner.events;
}

void TraceBuilder::joinThread(RankId rank, std::uint32_t thread, LaneId lane) {
    Rank& owner = m_state->rank(rank);
    if (const auto at = owner.threads.find(thread); at != owner.threads.end())
        at->second.lanes.push_back(lane);
}

void TraceBuilder::add(RankId rank, const CounterEvent& event) {
    if (!inRange(event.time)) return m_state->refuse("a sample's time is out of range");
    Lane* into = m_state->lane(rank, event.lane);
    if (into == nullptr) return m_state->refuse("a sample lies on a lane that was never declared");
    m_state->earliest = std::min(m_state->earliest, event.time);
    into->samples.add(event);
    if (into->samples.size() >= kFull) m_state->storeSamples(rank, *into, columns::kMaxChunkEvents);
    m_state->added(m_state->rank(rank));
}

bool TraceBuilder::State::isSound(const MemoryEvent& event) {
    if (inRange(event.time) && event.size.count >= 0 && event.size.count <= kTimeLimit) {
        earliest = std::min(earliest, event.time);
        return true;
    }
    refuse("a memory event's time or size is out of range");
    return false;
}

void TraceBuilder::add(RankId rank, const MemoryEvent& event, std::string_view arguments) {
    if (!m_state->isSound(event)) return;
    Rank& owner = m_state->rank(rank);
    MemoryEvent with = event;
    with.arguments = m_state->storeArguments(rank, arguments);
    owner.memory.add(with);
    ++owner.events;
}

void TraceBuilder::addFirst(RankId rank, const MemoryEvent& event, std::string_view arguments) {
    if (!m_state->isSound(event)) return;
    Rank& owner = m_state->rank(rank);
    MemoryEvent with = event;
    with.arguments = m_state->storeArguments(rank, arguments);
    owner.memory.addFirst(with);
    ++owner.events;
}

void TraceBuilder::add(RankId rank, const CollectiveEvent& event) {
    if (!inRange(event.issue) || !inRange(event.start) || !inRange(event.end) ||
        event.end < event.start || event.size < kUnknownSize || event.size.count > kTimeLimit)
        return m_state->refuse("a collective's time or size is out of range");
    m_state->earliest = std::min({m_state->earliest, event.issue, event.start});
    Rank& owner = m_state->rank(rank);
    owner.collectives.push_back(event);
    m_state->added(owner);
    if (owner.collectives.size() == columns::kMaxChunkEvents)
        m_state->storeCollectives(rank, owner);
}

void TraceBuilder::addStep(const StepFacts& step) {
    m_state->note(m_state->writer->addStep(step));
}
void TraceBuilder::deriveSteps(RankId rank) {
    Rank& owner = m_state->rank(rank);
    if (owner.marks == nullptr) owner.marks = std::make_shared<StepMarks>();
}
void TraceBuilder::markStep(RankId rank, const NamedStep& step, TimeRange range) {
    Rank& owner = m_state->rank(rank);
    const bool first = owner.steps.empty();
    StepMarks::ByBegin& named = owner.steps[step.naming];
    named.emplace(range.begin, StepMarks::Mark{step.step, range});
    if (owner.marks == nullptr || owner.marksKnown) return;
    if (first || step.naming == owner.inUse) {
        owner.inUse = step.naming;
        owner.marks->add({step.step, range});
        if (range.begin <= owner.storedThrough) m_state->stepsCameLate = true;
    } else if (step.naming < owner.inUse) {
        owner.inUse = step.naming;
        owner.marks->replace(named);
        if (owner.storedThrough.ns > -kTimeLimit) m_state->stepsCameLate = true;
    }
}
void TraceBuilder::knowSteps(const StepsOfRanks& steps) {
    for (const auto& [rank, marks] : steps) {
        Rank& owner = m_state->rank(rank);
        owner.marks = marks;
        owner.marksKnown = true;
    }
}
TraceBuilder::StepsOfRanks TraceBuilder::markedSteps() const {
    StepsOfRanks steps;
    for (const auto& [rank, owner] : m_state->ranks) {
        if (owner.steps.empty() || owner.marks == nullptr) continue;
        owner.marks->replace(owner.steps.at(chosenNaming(owner)));
        steps.emplace(rank, owner.marks);
    }
    return steps;
}
bool TraceBuilder::stepsCameLate() const {
    const auto late = [](const auto& each) {
        const Rank& owner = each.second;
        if (owner.marks == nullptr || owner.marksKnown || owner.steps.empty()) return false;
        return owner.marks->launchCameLate() || chosenNaming(owner) != owner.inUse;
    };
    return m_state->stepsCameLate ||
           std::any_of(m_state->ranks.begin(), m_state->ranks.end(), late);
}
std::vector<std::string> TraceBuilder::stepNotes() const {
    std::map<StepNaming, std::size_t> taken, left;
    for (const auto& [rank, owner] : m_state->ranks)
        for (const auto& [naming, marks] : owner.steps)
            (naming == chosenNaming(owner) ? taken : left)[naming] += marks.size();
    std::vector<std::string> notes;
    const auto like = [](std::size_t count, StepNaming naming) {
        return std::to_string(count) + (count == 1 ? " range" : " ranges") + " named like \"" +
               toWord(naming) + "\"";
    };
    for (const auto& [naming, count] : taken)
        if (naming != StepNaming::kProfilerStep)
            notes.push_back("steps were taken from " + like(count, naming));
    for (const auto& [naming, count] : left)
        notes.push_back(like(count, naming) + " were not taken for steps: \"" +
                        toWord(taken.begin()->first) + "\" names those");
    return notes;
}
std::optional<Timestamp> TraceBuilder::earliest() const {
    if (m_state->earliest.ns == kTimeLimit) return std::nullopt;
    return m_state->earliest;
}
void TraceBuilder::addMetric(const MetricPoint& metric) {
    m_state->note(m_state->writer->addMetric(metric));
}
void TraceBuilder::addDiagnostic(const Diagnostic& diagnostic) {
    m_state->note(m_state->writer->addDiagnostic(diagnostic));
}

const Result<void>& TraceBuilder::state() const {
    return m_state->status;
}

Result<void> TraceBuilder::finish(const RunFacts& run, Timestamp ended) {
    for (auto& [id, owner] : m_state->ranks) m_state->finishRank(id, owner);
    if (m_state->status) m_state->note(m_state->writer->putRun(run));
    if (m_state->status) m_state->note(m_state->writer->finalise(RunStatus::kFinished, ended));
    if (!m_state->status) return m_state->status;
    m_state->writer.reset();
    return m_state->output.commit();
}

}  // namespace shardscope::interchange
