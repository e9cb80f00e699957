#include "storage/interchange/builder/trace_state.h"

#include "storage/columns/chunk.h"
#include "storage/model/host_facts.h"
#include "storage/model/quantity_text.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <span>
#include <utility>

namespace shardscope::interchange {
namespace {

constexpr std::size_t kStringBatchBytes = std::size_t{1} << 20;
constexpr int kChunksACommit = 64;

template <class Event>
std::span<const Event> part(const std::vector<Event>& events, std::size_t at) {
    return std::span(events).subspan(at, std::min(events.size() - at, columns::kStoredChunkEvents));
}

void noteStored(BuiltRank& owner, BuiltLane& lane, std::size_t events) {
    if (events == 0) return;
    owner.stored = lane.stored = true;
}

/// Spans of one lane in order, enclosing ones first: the innermost that begins at an arrow's end.
void bindArrows(BuiltRank& owner, LaneId lane, std::vector<SpanEvent>& spans) {
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

/// Room for entries of this many bytes on average; shorter ones fill a generation early.
constexpr std::size_t kBytesAnEntry = 64;

}  // namespace

bool TraceBuilder::State::isSound(const MemoryEvent& event) {
    if (isStorable(event.time) && event.size.count >= 0 && event.size.count <= kStorableTime) {
        seen(event.time);
        return true;
    }
    refuse("a memory event's time or size is out of range");
    return false;
}

StringId TraceBuilder::State::intern(RankId id, std::string_view text) {
    BuiltRank& owner = rank(id);
    const StringId string = owner.strings.intern(text);
    if (owner.strings.newBytes() > kStringBatchBytes) storeStrings(owner);
    return string;
}

ArgumentTable& TraceBuilder::State::argumentTable(BuiltRank& owner) {
    if (owner.arguments == nullptr)
        owner.arguments = std::make_unique<ArgumentTable>(
            [this, id = owner.id](StringId first, const columns::ArgumentRows& rows) {
                return writer->addArguments(id, first, rows);
            });
    return *owner.arguments;
}

ArgumentSplitter& TraceBuilder::State::splitter(BuiltRank& owner) {
    if (owner.splitter == nullptr)
        owner.splitter = std::make_unique<ArgumentSplitter>(
            [this, id = owner.id](std::string_view text) { return intern(id, text); });
    return *owner.splitter;
}

const SplitArguments& TraceBuilder::State::split(RankId id, std::string_view arguments) {
    scratch.values.clear();
    scratch.form = splitter(rank(id)).split(arguments, scratch.values);
    return scratch;
}

StringId TraceBuilder::State::storeArguments(RankId id, std::string_view arguments) {
    if (arguments.empty()) return {};
    const SplitArguments& parts = split(id, arguments);
    return argumentTable(rank(id)).add(parts.form, parts.values);
}

void TraceBuilder::State::store(const columns::ChunkBytes& chunk) {
    if (!status) return;
    note(writer->addChunk(chunk));
    if (++chunksSinceCommit < kChunksACommit) return;
    if (isPublished) return publish();
    chunksSinceCommit = 0;
    note(writer->flush());
}

void TraceBuilder::State::publish() {
    isPublished = true;
    std::int32_t shown = 0;
    for (auto& [id, owner] : ranks) {
        if (owner.stored) publishRows(owner);
        shown += owner.shown ? 1 : 0;
    }
    if (status && run.worldSize < shown) {
        run.worldSize = shown;
        note(writer->putRun(run));
    }
    chunksSinceCommit = 0;
    if (status) note(writer->flush());
}

/// All of it is written anew at the end, so that nothing of it has to be true for good. What
/// happened to the rank is known only then: emitted stays 0.
void TraceBuilder::State::publishRows(BuiltRank& owner) {
    storeStrings(owner);
    for (auto& [id, lane] : owner.lanes) {
        if (!status || !lane.stored || lane.shown) continue;
        note(writer->addLane(lane.facts));
        lane.shown = true;
    }
    publishSteps(owner);
    if (std::exchange(owner.shown, true) || !status) return;
    RankFacts facts = owner.facts.value_or(RankFacts{});
    facts.rank = owner.id;
    if (!hosts.contains(facts.host) && assumedHosts.insert(facts.host).second) addHost(facts.host);
    if (status) note(writer->putRank(facts));
}

void TraceBuilder::State::removeAssumedHosts() {
    for (const std::int32_t host : assumedHosts)
        if (status && !hosts.contains(host)) note(writer->removeHost(host));
}

void TraceBuilder::State::publishSteps(BuiltRank& owner) {
    std::vector<StepFacts> steps = owner.steps.rows(owner.id);
    std::vector<StepFacts>& shown = owner.stepsShown;
    const auto isSame = [](const StepFacts& a, const StepFacts& b) {
        return a.step == b.step && a.start == b.start && a.end == b.end;
    };
    // One that came late, or another way to name them, may have changed those before.
    const bool more = shown.size() <= steps.size() &&
                      std::equal(shown.begin(), shown.end(), steps.begin(), isSame);
    if (status && !more) note(writer->removeSteps(owner.id));
    for (std::size_t i = more ? shown.size() : 0; i < steps.size(); ++i)
        if (status) note(writer->addStep(steps[i]));
    shown = std::move(steps);
}

void TraceBuilder::State::storeStrings(BuiltRank& owner) {
    const StringCache::Batch batch = owner.strings.take();
    if (status && !batch.texts.empty())
        note(writer->addStrings(owner.id, batch.first, batch.texts));
}

void TraceBuilder::State::storeSpans(BuiltRank& owner, BuiltLane& from, std::size_t count) {
    std::vector<SpanEvent> spans = from.spans.take(count);
    buffered -= spans.size();
    for (SpanEvent& span : spans) from.rows.place(span);
    if (from.facts.role == LaneRole::kCompute && isStreamLane(from.facts.lane))
        for (const SpanEvent& span : spans) from.overruns.add(span);
    owner.steps.fill(std::span(spans));
    bindArrows(owner, from.facts.lane, spans);
    const std::size_t before = from.spans.numbers();
    if (before > 0) note(from.spans.resolve(spans, argumentTable(owner)));
    bufferedNumbers -= before - from.spans.numbers();
    noteStored(owner, from, spans.size());
    for (std::size_t at = 0; at < spans.size(); at += columns::kStoredChunkEvents)
        store(columns::encodeSpans(owner.id, part(spans, at)));
}

void TraceBuilder::State::storeInstants(BuiltRank& owner, BuiltLane& from, std::size_t count) {
    std::vector<InstantEvent> instants = from.instants.take(count);
    buffered -= instants.size();
    owner.steps.fill(std::span(instants));
    const std::size_t before = from.instants.numbers();
    if (before > 0) note(from.instants.resolve(instants, argumentTable(owner)));
    bufferedNumbers -= before - from.instants.numbers();
    noteStored(owner, from, instants.size());
    for (std::size_t at = 0; at < instants.size(); at += columns::kStoredChunkEvents)
        store(columns::encodeInstants(owner.id, part(instants, at)));
}

void TraceBuilder::State::storeSamples(BuiltRank& owner, BuiltLane& from, std::size_t count) {
    const std::vector<CounterEvent> samples = from.samples.take(count);
    buffered -= samples.size();
    noteStored(owner, from, samples.size());
    for (std::size_t at = 0; at < samples.size(); at += columns::kStoredChunkEvents)
        store(columns::encodeCounters(owner.id, part(samples, at)));
}

/// All spans are stored.
void TraceBuilder::State::storeFlows(BuiltRank& owner) {
    const PendingFlows::Surroundings around{
        [this, &owner](LaneId lane, TimeRange range) {
            return writer->storedSpans(owner.id, lane, range);
        },
        latest, [&owner](Timestamp time) { return owner.steps.at(time); },
        [&owner](LaneId lane) {
            if (BuiltLane* held = owner.lanes.find(lane)) held->needed = true;
        }};
    note(owner.flows.drain(around, [&](std::span<FlowEvent> events) {
        store(columns::encodeFlows(owner.id, events));
    }));
}

void TraceBuilder::State::storeMemory(BuiltRank& owner) {
    note(owner.memory.drain([&](std::span<MemoryEvent> events) {
        owner.steps.fill(events);
        store(columns::encodeMemory(owner.id, events));
    }));
}

void TraceBuilder::State::storeCollectives(BuiltRank& owner) {
    if (owner.collectives.empty()) return;
    std::stable_sort(
        owner.collectives.begin(), owner.collectives.end(),
        [](const CollectiveEvent& a, const CollectiveEvent& b) { return a.start < b.start; });
    owner.steps.fill(std::span(owner.collectives));
    store(columns::encodeCollectives(owner.id, owner.collectives));
    buffered -= owner.collectives.size();
    owner.collectives.clear();
}

/// Too much waits in many lanes: stores most of the longest one.
void TraceBuilder::State::relieve() {
    BuiltRank* owner = nullptr;
    BuiltLane* longest = nullptr;
    for (auto& [id, each] : ranks) {
        for (auto& [laneId, waiting] : each.lanes) {
            if (longest != nullptr && waiting.waiting() <= longest->waiting()) continue;
            longest = &waiting;
            owner = &each;
        }
    }
    if (longest == nullptr) return;
    const auto most = [](std::size_t size) { return size / 4 * 3 + 1; };
    storeSpans(*owner, *longest, most(longest->spans.size()));
    storeInstants(*owner, *longest, most(longest->instants.size()));
    storeSamples(*owner, *longest, most(longest->samples.size()));
}

/// A rank's host must have a row, even if nothing is known of it.
void TraceBuilder::State::addHost(std::int32_t host) {
    HostFacts unknown;
    unknown.host = host;
    if (status) note(writer->addHost(unknown));
}

/// In the order in which one part needs another: flows bind to stored spans, and may make a lane
/// needed; strings come last, since all before may add some.
void TraceBuilder::State::finishRank(BuiltRank& owner) {
    for (auto& [id, lane] : owner.lanes) {
        storeSpans(owner, lane, lane.spans.size());
        storeInstants(owner, lane, lane.instants.size());
        storeSamples(owner, lane, lane.samples.size());
    }
    if (status && owner.arguments != nullptr) note(owner.arguments->flush());
    storeFlows(owner);
    for (auto& [id, lane] : owner.lanes)
        if (status && lane.needed) note(writer->addLane(lane.facts));
    storeMemory(owner);
    storeCollectives(owner);
    storeStrings(owner);
    publishSteps(owner);
    RankFacts facts = owner.facts.value_or(RankFacts{});
    facts.rank = owner.id;
    facts.emitted = owner.events;
    if (hosts.insert(facts.host).second) addHost(facts.host);
    if (status) note(writer->putRank(facts));
}

void TraceBuilder::State::noteOverruns(BuiltRank& owner) {
    std::uint64_t count = 0;
    Duration longest;
    for (const auto& [id, lane] : owner.lanes) {
        count += lane.overruns.count();
        longest = std::max(longest, lane.overruns.longest());
    }
    if (count == 0 || !status) return;
    const std::string many = std::to_string(count) + (count == 1 ? " kernel" : " kernels");
    note(writer->addDiagnostic(
        {Severity::kWarning,
         "kernels-overrun",
         "rank " + std::to_string(owner.id.value) + ": " + many + (count == 1 ? " ends" : " end") +
             " after a later one of the same stream, by up to " + durationText(longest) +
             " from its start: the tracer lost " + (count == 1 ? "its end" : "their ends") +
             ", or two streams share a row",
         "times of kernels may be too long by as much; see them on the Timeline",
         owner.id,
         {},
         static_cast<std::int64_t>(count)}));
}

StringCache::TextTable::TextTable(std::size_t bytes)
    : m_bytes(bytes),
      m_slots(std::bit_ceil(std::max<std::size_t>(16, bytes / kBytesAnEntry * 2))) {}

std::optional<StringId> StringCache::TextTable::find(std::string_view text,
                                                     std::size_t hash) const {
    const std::size_t mask = m_slots.size() - 1;
    for (std::size_t i = hash & mask; m_slots[i].id.value != 0; i = (i + 1) & mask) {
        const Slot& slot = m_slots[i];
        if (slot.hash == hash && std::string_view(m_text).substr(slot.at, slot.size) == text)
            return slot.id;
    }
    return std::nullopt;
}

bool StringCache::TextTable::add(std::string_view text, std::size_t hash, StringId id) {
    if (m_text.size() + text.size() > m_bytes || m_count * 2 >= m_slots.size()) return false;
    const std::size_t mask = m_slots.size() - 1;
    std::size_t i = hash & mask;
    while (m_slots[i].id.value != 0) i = (i + 1) & mask;
    m_slots[i] = {hash, static_cast<std::uint32_t>(m_text.size()),
                  static_cast<std::uint32_t>(text.size()), id};
    m_text += text;
    ++m_count;
    return true;
}

void StringCache::remember(std::string_view text, std::size_t hash, StringId id) {
    // A text too long for any generation is not worth remembering.
    if (text.size() > m_generationBytes / 2 || m_young.add(text, hash, id)) return;
    m_old = std::exchange(m_young, TextTable(m_generationBytes));
    static_cast<void>(m_young.add(text, hash, id));
}

StringId StringCache::intern(std::string_view text) {
    if (text.empty()) return kEmptyString;
    const std::size_t hash = std::hash<std::string_view>{}(text);
    if (const auto id = m_young.find(text, hash)) return *id;
    if (const auto id = m_old.find(text, hash)) {
        remember(text, hash, *id);
        return *id;
    }
    const StringId id{m_next++};
    if (m_new.texts.empty()) m_new.first = id;
    m_new.texts.emplace_back(text);
    m_newBytes += text.size() + sizeof(std::string);
    remember(text, hash, id);
    return id;
}

StringCache::Batch StringCache::take() {
    m_newBytes = 0;
    return std::exchange(m_new, {});
}

}  // namespace shardscope::interchange
