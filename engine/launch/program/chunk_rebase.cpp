#include "engine/launch/program/program_peer.h"
#include "storage/columns/arguments.h"
#include "storage/model/lanes.h"

#include <algorithm>

namespace shardscope::launch {
namespace {

class Shift {
public:
    explicit Shift(const AttemptOffsets& offsets) : m_offsets(offsets) {}

    void text(StringId& id) const {
        if (id != kEmptyString && !columns::isArguments(id)) id.value += m_offsets.strings;
    }
    void step(StepIndex& step) const {
        if (step != kNoStep) step.value += m_offsets.steps;
    }
    void sequence(std::uint64_t& sequence) const {
        if (sequence >> 60 == 0) sequence += m_offsets.sequences();
    }

private:
    const AttemptOffsets& m_offsets;
};

void shift(SpanEvent& event, const Shift& by) {
    by.text(event.name);
    by.text(event.arguments);
    by.step(event.step);
    const bool drawn =
        event.lane == lanes::kCommunication.id || lanes::kGroups.contains(event.lane);
    if (drawn || event.correlation != 0) by.sequence(event.correlation);
}

void shift(MemoryEvent& event, const Shift& by) {
    by.text(event.owner);
    by.text(event.arguments);
    by.step(event.step);
}

void shift(CollectiveEvent& event, const Shift& by) {
    by.text(event.algorithm);
    by.text(event.protocol);
    by.step(event.step);
    by.sequence(event.sequence);
}

void shift(CounterEvent&, const Shift&) {}

template <class Decode, class Encode>
Result<columns::ChunkBytes> again(const columns::ChunkBytes& chunk, RankId rank, const Shift& by,
                                  Decode decode, Encode encode) {
    auto events = decode(chunk);
    if (!events) return failure(events);
    for (auto& event : *events) shift(event, by);
    return encode(rank, *events);
}

}  // namespace

Result<columns::ChunkBytes> rebased(const columns::ChunkBytes& chunk, RankId rank,
                                    const AttemptOffsets& offsets) {
    const Shift by(offsets);
    const auto header = columns::decodeHeader(chunk);
    if (!header) return failure(header);
    switch (header->kind) {
        case EventKind::kSpan:
            return again(chunk, rank, by, columns::decodeSpans, columns::encodeSpans);
        case EventKind::kMemory:
            return again(chunk, rank, by, columns::decodeMemory, columns::encodeMemory);
        case EventKind::kCounter:
            return again(chunk, rank, by, columns::decodeCounters, columns::encodeCounters);
        case EventKind::kCollective:
            return again(chunk, rank, by, columns::decodeCollectives, columns::encodeCollectives);
        case EventKind::kFlow:
        case EventKind::kInstant:
            break;
    }
    return failure(ErrorCode::kUnreadable, "processes send no such chunks");
}

void RankNumbers::note(const capture::NewStrings& strings) {
    m_strings = std::max(
        m_strings, strings.first.value + static_cast<std::uint32_t>(strings.texts.size()) - 1);
}

void RankNumbers::note(StepIndex step) {
    m_steps = std::max(m_steps, step.value + 1);
}

void RankNumbers::note(std::uint64_t emitted, std::uint64_t dropped) {
    m_emitted = std::max(m_emitted, emitted);
    m_dropped = std::max(m_dropped, dropped);
}

AttemptOffsets RankNumbers::next() {
    if (m_attempts == 0) {
        ++m_attempts;
        return {};
    }
    return {m_attempts++, m_strings, m_steps, m_emitted, m_dropped};
}

}  // namespace shardscope::launch
