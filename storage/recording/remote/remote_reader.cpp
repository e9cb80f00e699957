#include "storage/recording/remote/remote_reader.h"

#include "storage/columns/arguments.h"

#include <algorithm>
#include <utility>

namespace shardscope::storage::remote {
namespace {

/// Asked for at once: one way there and back costs more than they do.
constexpr std::uint32_t kBlock = 256;

/// Nothing is recorded outside of it.
TimeRange withinReason(TimeRange range) {
    constexpr std::int64_t kLimit = std::int64_t{1} << 61;
    return {{std::clamp(range.begin.ns, -kLimit, kLimit)},
            {std::clamp(range.end.ns, -kLimit, kLimit)}};
}

std::size_t sizeOf(const std::vector<std::string>& texts) {
    std::size_t size = texts.size() * sizeof(std::string);
    for (const std::string& text : texts) size += text.size();
    return size;
}

/// An answer has to have as many lists as there are lanes.
template <class Answer>
Result<Answer> ofLanes(Result<Answer> answer, std::size_t lanes) {
    if (answer && answer->size() != lanes)
        return failure(ErrorCode::kUnreadable,
                       "the other side answers of other lanes than it was asked for");
    return answer;
}

}  // namespace

Result<std::unique_ptr<RemoteReader>> RemoteReader::open(std::shared_ptr<RemoteSession> session,
                                                         const std::string& path) {
    session->forgetNames();
    session->forgetArguments();
    const auto opened = session->ask(Open{path});
    if (!opened) return failure(opened);
    return std::unique_ptr<RemoteReader>(new RemoteReader(std::move(session), *opened != 0));
}

Result<RecordingSummary> RemoteReader::summary() {
    m_unknown.clear();
    return m_session->ask(Summary{});
}

std::vector<std::string> RemoteReader::textsFrom(RankId rank, StringId first, std::uint32_t count) {
    // An unreadable string is an unknown one; the call that needs the connection says why.
    auto texts = m_session->ask(Texts{rank, first, count});
    if (!texts || texts->size() > count) return {};
    return std::move(*texts);
}

std::string_view RemoteReader::text(RankId rank, StringId id) {
    if (id == kEmptyString) return {};
    return columns::isArguments(id) ? arguments(rank, id) : name(rank, id);
}

std::string_view RemoteReader::name(RankId rank, StringId id) {
    if (const std::string* came = m_session->names().find(rank, id)) return *came;
    if (const std::string* known = m_names.find(rank, id)) return *known;
    if (m_unknown.contains({rank, id})) return {};
    auto texts = textsFrom(rank, id, kBlock);
    for (std::uint32_t i = 0; i < texts.size(); ++i)
        if (!texts[i].empty()) m_names.add(rank, {id.value + i}, std::move(texts[i]));
    if (const std::string* known = m_names.find(rank, id)) return *known;
    m_unknown.insert({rank, id});
    return {};
}

std::string_view RemoteReader::arguments(RankId rank, StringId id) {
    if (const std::string* inView = m_session->arguments().find(rank, id)) return *inView;
    const StringId first{id.value - id.value % kBlock};
    const std::uint32_t place = id.value - first.value;
    const auto key = static_cast<std::int64_t>((std::uint64_t{rank.value} << 32) | first.value);
    const auto* block = m_arguments.find(key);
    if (block == nullptr) {
        auto texts = textsFrom(rank, first, kBlock);
        if (place < texts.size()) {
            const std::size_t size = sizeOf(texts);
            block = &m_arguments.put(key, std::move(texts), size);
        }
    }
    if (block != nullptr && place < block->size()) return m_last = (*block)[place];
    // Long ones, of which fewer come at once.
    auto alone = textsFrom(rank, id, 1);
    m_last = alone.empty() ? std::string() : std::move(alone.front());
    return m_last;
}

Result<RankEvents> RemoteReader::rankEvents(RankId rank, TimeRange range) {
    return m_session->ask(EventsOfRank{rank, withinReason(range)});
}

Result<std::vector<SpanEvent>> RemoteReader::spans(RankId rank, LaneId lane, TimeRange range) {
    return m_session->ask(SpansOfLane{rank, lane, withinReason(range)});
}

Result<std::vector<std::vector<LaneSlice>>> RemoteReader::spans(
    const std::vector<LaneAddress>& lanes, const View& view) {
    m_session->forgetArguments();
    return ofLanes(m_session->ask(SpansInView{lanes, withinReason(view.range), view.resolution},
                                  view.generation),
                   lanes.size());
}

Result<std::vector<std::vector<CounterSlice>>> RemoteReader::counters(
    const std::vector<LaneAddress>& lanes, const View& view) {
    return ofLanes(m_session->ask(CountersInView{lanes, withinReason(view.range), view.resolution},
                                  view.generation),
                   lanes.size());
}

Result<std::vector<CounterEvent>> RemoteReader::samples(RankId rank, LaneId lane, TimeRange range) {
    return m_session->ask(SamplesOfLane{rank, lane, withinReason(range)});
}

Result<std::vector<MemoryEvent>> RemoteReader::memoryEvents(RankId rank, TimeRange range) {
    return m_session->ask(MemoryOfRank{rank, withinReason(range)});
}

Result<std::vector<MemoryEvent>> RemoteReader::liveMemory(RankId rank, Timestamp time) {
    return m_session->ask(LiveMemory{rank, withinReason({time, time}).begin});
}

Result<std::vector<InstantEvent>> RemoteReader::instants(RankId rank, LaneId lane,
                                                         TimeRange range) {
    return m_session->ask(InstantsOfLane{rank, lane, withinReason(range)});
}

Result<std::vector<FlowEvent>> RemoteReader::flows(RankId rank, LaneId lane, TimeRange range) {
    return m_session->ask(FlowsOfLane{rank, lane, withinReason(range)});
}

Result<std::vector<SpanEvent>> RemoteReader::spansNaming(RankId rank, LaneId lane, TimeRange range,
                                                         const std::vector<StringId>& texts) {
    return m_session->ask(SpansNaming{rank, lane, withinReason(range), texts});
}

Result<std::vector<FlowArrow>> RemoteReader::arrowsOf(RankId rank, LaneId lane, Timestamp start,
                                                      std::uint8_t depth) {
    return m_session->ask(Arrows{rank, lane, start, depth});
}

Result<TableResult> RemoteReader::query(const std::string& sql) {
    return m_session->ask(Query{sql});
}

}  // namespace shardscope::storage::remote
