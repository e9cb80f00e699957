#include "storage/recording/write/slow_steps.h"

#include "storage/model/step_facts.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace shardscope::storage {
namespace {

/// What a step is held against: so many steps before it, once there are a few.
constexpr std::size_t kMostCompared = 101, kLeastCompared = 5;
/// Steps that are remembered, with their times, for chunks that come late: those of counters hold
/// seconds, which are hundreds of short steps.
constexpr std::size_t kMostSteps = 100'000;

StepIndex tagOf(const SpanEvent& event) {
    return event.step;
}
StepIndex tagOf(const CollectiveEvent& event) {
    return event.step;
}
StepIndex tagOf(const CounterEvent&) {
    return kNoStep;
}
Timestamp timeOf(const SpanEvent& event) {
    return event.start;
}
Timestamp timeOf(const CollectiveEvent& event) {
    return event.issue;
}
Timestamp timeOf(const CounterEvent& event) {
    return event.time;
}

std::int64_t medianOf(std::vector<std::int64_t> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

}  // namespace

bool SlowSteps::isKept(std::int32_t step) const {
    if (m_first < 0 || step < m_first) return true;
    return m_slow.contains(step - 1) || m_slow.contains(step) || m_slow.contains(step + 1);
}

/// An event belongs to the step that it names, or else to the last one that began before it.
std::int32_t SlowSteps::stepOf(const Rank& rank, StepIndex tag, Timestamp time) {
    if (tag != kNoStep) return tag.value;
    const auto next =
        std::upper_bound(rank.steps.begin(), rank.steps.end(), time,
                         [](Timestamp t, const Step& step) { return t < step.range.begin; });
    return next == rank.steps.begin() ? -1 : std::prev(next)->number;
}

/// What ends before belongs to steps that are decided: within the last of them something may have
/// been fetched for the next.
Timestamp SlowSteps::decidedUntil(const Rank& rank) const {
    const auto last = std::lower_bound(
        rank.steps.begin(), rank.steps.end(), m_decided,
        [](const Step& step, std::int32_t number) { return step.number < number; });
    if (last != rank.steps.end()) return last->range.begin;
    return rank.steps.empty() ? kBeginningOfTime : rank.steps.back().range.begin;
}

void SlowSteps::judge(Rank& rank, const StepFacts& step) {
    const std::int64_t took = (step.end - step.start).ns;
    if (rank.durations.size() >= kLeastCompared) {
        const std::int64_t median = medianOf({rank.durations.begin(), rank.durations.end()});
        if (static_cast<double>(took) >= m_factor * static_cast<double>(median)) {
            m_slow.insert(step.step.value);
            if (m_window.ns > 0) keep();
        }
    }
    rank.durations.push_back(took);
    if (rank.durations.size() > kMostCompared) rank.durations.pop_front();
}

Result<void> SlowSteps::stepDone(const StepFacts& step) {
    Rank& rank = m_byRank[step.rank];
    if (m_first < 0) {
        m_first = step.step.value;
        m_decided = m_first - 1;
    }
    judge(rank, step);
    rank.steps.push_back({step.step.value, step.range()});
    if (rank.steps.size() > kMostSteps) rank.steps.pop_front();
    if (++m_done[step.step.value] < m_ranks) return {};
    m_done.erase(m_done.begin(), m_done.upper_bound(step.step.value));
    return decide(decidable(step.step.value));
}

/// The last step that nothing can change any more, once all ranks have done step `done`.
std::int32_t SlowSteps::decidable(std::int32_t done) const {
    if (m_window.ns == 0) return done - 1;  // the one after it decides about a step too
    std::int32_t last = done - 1;
    for (const auto& [id, rank] : m_byRank) {
        if (rank.steps.empty()) continue;
        const Timestamp since = rank.steps.back().range.end - m_window;
        const auto first = std::find_if(
            rank.steps.begin(), rank.steps.end(),
            [&](const Step& step) { return step.number > m_decided && step.range.end > since; });
        if (first != rank.steps.end()) last = std::min(last, first->number - 1);
    }
    return last;
}

void SlowSteps::keep() {
    std::int32_t last = m_decided;
    for (const auto& [id, rank] : m_byRank)
        if (!rank.steps.empty()) last = std::max(last, rank.steps.back().number);
    for (std::int32_t step = m_decided + 1; step <= last + 1; ++step) m_slow.insert(step);
}

Result<void> SlowSteps::decide(std::int32_t through) {
    while (m_decided < through) {
        ++m_decided;
        if (isKept(m_decided)) continue;
        for (const auto& [id, rank] : m_byRank)
            if (auto done = declare(id, {{m_decided, 0}}); !done) return done;
    }
    m_slow.erase(m_slow.begin(), m_slow.lower_bound(m_decided - static_cast<int>(kMostSteps)));
    for (auto& [id, rank] : m_byRank)
        if (auto done = release(id, false); !done) return done;
    return {};
}

Result<void> SlowSteps::add(RankId id, std::span<const std::byte> chunk) {
    if (auto header = columns::decodeHeader(chunk); !header) return failure(header);
    m_byRank[id].waiting.emplace_back(chunk.begin(), chunk.end());
    m_bytes += chunk.size();
    return m_bytes > m_mostBytes ? squeeze() : Result<void>{};
}

/// Gives up what waits longest in the rank that has most of it.
Result<void> SlowSteps::squeeze() {
    while (m_bytes > m_mostBytes) {
        const auto fullest =
            std::max_element(m_byRank.begin(), m_byRank.end(), [](const auto& a, const auto& b) {
                return a.second.waiting.size() < b.second.waiting.size();
            });
        const columns::ChunkBytes oldest = std::move(fullest->second.waiting.front());
        fullest->second.waiting.pop_front();
        m_bytes -= oldest.size();
        if (auto header = columns::decodeHeader(oldest)) m_squeezedOut += header->count;
        if (auto done = take(fullest->first, oldest, true); !done) return done;
    }
    return {};
}

Result<void> SlowSteps::release(RankId id, bool everything) {
    Rank& rank = m_byRank[id];
    const Timestamp until = decidedUntil(rank);
    while (!rank.waiting.empty()) {
        const auto header = columns::decodeHeader(rank.waiting.front());
        if (!everything && header && header->last >= until) return {};
        const columns::ChunkBytes next = std::move(rank.waiting.front());
        rank.waiting.pop_front();
        m_bytes -= next.size();
        if (auto done = take(id, next, false); !done) return done;
    }
    return {};
}

Result<void> SlowSteps::take(RankId id, std::span<const std::byte> chunk, bool giveUp) {
    const auto header = columns::decodeHeader(chunk);
    if (!header) return failure(header);
    switch (header->kind) {
        case EventKind::kSpan:
            return takeAs<SpanEvent>(id, chunk, giveUp, columns::decodeSpans, columns::encodeSpans);
        case EventKind::kCounter:
            return takeAs<CounterEvent>(id, chunk, giveUp, columns::decodeCounters,
                                        columns::encodeCounters);
        case EventKind::kCollective:
            return takeAs<CollectiveEvent>(id, chunk, giveUp, columns::decodeCollectives,
                                           columns::encodeCollectives);
        case EventKind::kMemory:
            return takeMemory(id, chunk, giveUp);
        default:
            return m_writer->addChunk(chunk);
    }
}

template <class Event, class Decode, class Encode>
Result<void> SlowSteps::takeAs(RankId id, std::span<const std::byte> chunk, bool giveUp,
                               Decode decode, Encode encode) {
    Result<std::vector<Event>> events = decode(chunk);
    if (!events) return failure(events);
    const Rank& rank = m_byRank[id];
    Dropped dropped;
    std::erase_if(*events, [&](const Event& event) {
        const std::int32_t step = stepOf(rank, tagOf(event), timeOf(event));
        if (!giveUp && isKept(step)) return false;
        ++dropped[step];
        return true;
    });
    if (!events->empty())
        if (auto done = m_writer->addChunk(encode(id, *events)); !done) return done;
    return declare(id, dropped);
}

/// Where keeping begins again the file learns what was allocated and freed meanwhile.
Result<void> SlowSteps::takeMemory(RankId id, std::span<const std::byte> chunk, bool giveUp) {
    auto events = columns::decodeMemory(chunk);
    if (!events) return failure(events);
    Rank& rank = m_byRank[id];
    std::vector<MemoryEvent> kept;
    for (const MemoryEvent& event : *events) {
        const std::int32_t step = stepOf(rank, event.step, event.time);
        if (giveUp || !isKept(step)) {
            rank.keeping = false;
            ++rank.gap[step];
            rank.now.apply(event);
            continue;
        }
        if (!std::exchange(rank.keeping, true)) {
            const auto bridge = rank.file.changesTo(rank.now, event.time);
            kept.insert(kept.end(), bridge.begin(), bridge.end());
            // Each of them stands for one that was left out.
            std::uint64_t stored = bridge.size();
            for (auto& [of, count] : rank.gap) {
                const std::uint64_t less = std::min(stored, count);
                count -= less;
                stored -= less;
            }
            if (auto done = declare(id, std::exchange(rank.gap, {})); !done) return done;
            rank.file = rank.now;
        }
        kept.push_back(event);
        rank.now.apply(event);
        rank.file.apply(event);
    }
    for (std::size_t at = 0; at < kept.size(); at += columns::kStoredChunkEvents) {
        const auto part = std::span<const MemoryEvent>(kept).subspan(
            at, std::min(columns::kStoredChunkEvents, kept.size() - at));
        if (auto done = m_writer->addChunk(columns::encodeMemory(id, part)); !done) return done;
    }
    return {};
}

/// Runs of neighbouring steps as one.
Result<void> SlowSteps::declare(RankId id, const Dropped& dropped) {
    const Rank& rank = m_byRank[id];
    for (auto at = dropped.begin(); at != dropped.end();) {
        DetailFacts facts;
        facts.rank = id;
        facts.reason = m_window.ns > 0 ? DetailReason::kKeepLast : DetailReason::kNotSlow;
        facts.first = facts.last = {at->first};
        facts.removed = 0;
        for (; at != dropped.end() && at->first <= facts.last.value + 1; ++at) {
            facts.last = {at->first};
            *facts.removed += at->second;
        }
        const auto rangeOf = [&](StepIndex step) {
            const auto found = std::lower_bound(
                rank.steps.begin(), rank.steps.end(), step.value,
                [](const Step& each, std::int32_t number) { return each.number < number; });
            return found == rank.steps.end() ? TimeRange{} : found->range;
        };
        facts.range = {rangeOf(facts.first).begin, rangeOf(facts.last).end};
        facts.range.end = std::max(facts.range.begin, facts.range.end);
        if (auto done = m_writer->addDetail(facts); !done) return done;
    }
    return {};
}

Result<void> SlowSteps::finish() {
    std::int32_t last = m_decided;
    for (const auto& [id, rank] : m_byRank)
        if (!rank.steps.empty()) last = std::max(last, rank.steps.back().number);
    if (auto done = decide(last); !done) return done;
    for (auto& [id, rank] : m_byRank) {
        if (auto done = release(id, true); !done) return done;
        if (auto done = declare(id, std::exchange(rank.gap, {})); !done) return done;
    }
    return {};
}

}  // namespace shardscope::storage
