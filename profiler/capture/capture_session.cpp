#include "profiler/capture/capture_session.h"

#include "profiler/capture/thread_own.h"

#include <algorithm>
#include <span>
#include <utility>

namespace shardscope::capture {
namespace {

constexpr std::size_t kRareCapacity = 1u << 16;
constexpr std::size_t kBulkCapacity = 1u << 20;

std::atomic<std::uint64_t> g_generations{0};
std::atomic<const Context*> g_lent{nullptr};

/// Of a thread: the queue is given back when it ends, whether its session is still there or not.
struct OwnQueue {
    std::uint64_t generation = 0;
    std::shared_ptr<ThreadQueue> queue;

    OwnQueue() = default;
    OwnQueue(const OwnQueue&) = delete;
    OwnQueue& operator=(const OwnQueue&) = delete;
    ~OwnQueue() {
        if (queue) queue->release();
    }
};

}  // namespace

Context& threadContext() {
    thread_local Context context;
    return context;
}

void lendContext(const Context* context) {
    g_lent.store(context, std::memory_order_release);
}

const Context& effectiveContext() {
    const Context& own = threadContext();
    if (own.step != kNoStep || own.phase != Phase::kNone) return own;
    const Context* lent = g_lent.load(std::memory_order_acquire);
    return lent != nullptr ? *lent : own;
}

CaptureSession::CaptureSession(const SessionOptions& options, EventSink& sink)
    : m_options(options), m_clock(options.originNs), m_sink(sink), m_generation(++g_generations) {
    m_late.operatorLane = lanes::kOperators.id;
}

CaptureSession::~CaptureSession() = default;

void CaptureSession::declareLane(LaneId lane, LaneRole role, const std::string& name,
                                 const std::string& unit, std::optional<std::int32_t> order) {
    const MutexLock lock(m_mutex);
    m_freshLanes.push_back({m_options.rank, lane, role, name, unit,
                            order.value_or(static_cast<std::int32_t>(lane.value))});
}

void CaptureSession::declareLane(const FixedLane& lane) {
    declareLane(lane.id, lane.role, lane.name, lane.unit, lane.order);
}

ThreadQueue& CaptureSession::threadQueue() {
    auto* own = threadOwn<OwnQueue>();
    if (own == nullptr) return m_late;
    if (own->generation == m_generation) return *own->queue;
    if (own->queue) own->queue->release();
    own->queue = newQueue();
    own->generation = m_generation;
    return *own->queue;
}

void CaptureSession::keepQueueLonger() {
    threadOwn<OwnQueue>();
}

std::shared_ptr<ThreadQueue> CaptureSession::newQueue() {
    const MutexLock lock(m_mutex);
    for (const auto& queue : m_queues)
        if (queue->acquire()) return queue;
    const bool room = m_queues.size() < m_options.mostQueues;
    m_queues.push_back(std::make_shared<ThreadQueue>(room ? m_options.queueCapacity : 0));
    return m_queues.back();
}

LaneId CaptureSession::operatorLane() {
    ThreadQueue& queue = threadQueue();
    if (queue.operatorLane) return *queue.operatorLane;
    std::uint32_t index = 0;
    {
        const MutexLock lock(m_mutex);
        index = m_operatorLanes++;
    }
    queue.operatorLane = index == 0 ? lanes::kOperators.id : lanes::kMoreOperators.at(index - 1);
    if (index == 0)
        declareLane(lanes::kOperators);
    else
        declareLane(
            *queue.operatorLane, lanes::kOperators.role,
            std::string(lanes::kOperators.name) + " (thread " + std::to_string(index) + ")");
    return *queue.operatorLane;
}

void CaptureSession::push(const CollectiveEvent& event) {
    const MutexLock lock(m_mutex);
    ++m_rareEmitted;
    if (m_newCollectives.size() < kRareCapacity) {
        m_newCollectives.push_back(event);
    } else {
        ++m_rareDropped;
    }
}

void CaptureSession::push(const CounterEvent& event) {
    const MutexLock lock(m_mutex);
    ++m_rareEmitted;
    if (m_newCounters.size() < kRareCapacity) {
        m_newCounters.push_back(event);
    } else {
        ++m_rareDropped;
    }
}

void CaptureSession::push(const std::vector<SpanEvent>& spans) {
    const MutexLock lock(m_mutex);
    m_rareEmitted += spans.size();
    const std::size_t room = kBulkCapacity - std::min(kBulkCapacity, m_newSpans.size());
    const std::size_t taken = std::min(room, spans.size());
    m_newSpans.insert(m_newSpans.end(), spans.begin(),
                      spans.begin() + static_cast<std::ptrdiff_t>(taken));
    m_rareDropped += spans.size() - taken;
}

void CaptureSession::collect() {
    std::vector<ThreadQueue*> queues{&m_late};
    {
        const MutexLock lock(m_mutex);
        for (const auto& queue : m_queues) queues.push_back(queue.get());
        std::move(m_newCollectives.begin(), m_newCollectives.end(),
                  std::back_inserter(m_collectives));
        m_newCollectives.clear();
        m_counters.insert(m_counters.end(), m_newCounters.begin(), m_newCounters.end());
        m_newCounters.clear();
        m_spans.insert(m_spans.end(), m_newSpans.begin(), m_newSpans.end());
        m_newSpans.clear();
    }
    for (ThreadQueue* queue : queues) {
        SpanEvent span;
        while (queue->pop(span)) m_spans.push_back(span);
        MemoryEvent memory;
        while (queue->pop(memory)) m_memory.push_back(memory);
    }
}

template <class Event, class Encode>
void CaptureSession::sendChunks(std::vector<Event>& events, Encode encode) {
    const std::span<const Event> all = events;
    for (std::size_t begin = 0; begin < all.size(); begin += columns::kMaxChunkEvents) {
        const std::size_t count = std::min(columns::kMaxChunkEvents, all.size() - begin);
        m_sink.chunk(encode(m_options.rank, all.subspan(begin, count)));
    }
    events.clear();
}

void CaptureSession::send(bool everything) {
    std::vector<LaneFacts> lanes;
    {
        const MutexLock lock(m_mutex);
        lanes = std::exchange(m_freshLanes, {});
    }
    for (const LaneFacts& lane : lanes) m_sink.lane(lane);
    if (const auto fresh = m_strings.takeFresh(); !fresh.texts.empty()) {
        m_sink.strings(fresh.first, fresh.texts);
    }
    // Nested spans end inner first and threads interleave: chunks are ordered by start.
    std::stable_sort(m_spans.begin(), m_spans.end(), [](const SpanEvent& a, const SpanEvent& b) {
        return std::pair(a.start, a.depth) < std::pair(b.start, b.depth);
    });
    const auto byTime = [](const auto& a, const auto& b) { return a.time < b.time; };
    std::stable_sort(m_memory.begin(), m_memory.end(), byTime);
    if (m_options.memoryFilter) m_options.memoryFilter(m_memory, everything);
    std::stable_sort(m_counters.begin(), m_counters.end(), byTime);
    sendChunks(m_spans, columns::encodeSpans);
    sendChunks(m_memory, columns::encodeMemory);
    sendChunks(m_counters, columns::encodeCounters);
    // Groups of ranks communicate on threads of their own; chunks are by start.
    std::stable_sort(
        m_collectives.begin(), m_collectives.end(),
        [](const CollectiveEvent& a, const CollectiveEvent& b) { return a.start < b.start; });
    sendChunks(m_collectives, columns::encodeCollectives);
}

void CaptureSession::drain(std::int64_t nowNs, bool everything) {
    collect();
    const bool full =
        m_spans.size() >= columns::kMaxChunkEvents || m_memory.size() >= columns::kMaxChunkEvents;
    if (!everything && !full && nowNs - m_lastSendNs < m_options.flushNs) return;
    m_lastSendNs = nowNs;
    send(everything);
}

std::uint64_t CaptureSession::emitted() const {
    const MutexLock lock(m_mutex);
    std::uint64_t total = m_rareEmitted + m_late.emitted();
    for (const auto& queue : m_queues) total += queue->emitted();
    return total;
}

std::uint64_t CaptureSession::dropped() const {
    const MutexLock lock(m_mutex);
    std::uint64_t total = m_rareDropped + m_late.dropped();
    for (const auto& queue : m_queues) total += queue->dropped();
    return total;
}

StringId StringTable::intern(std::string_view text) {
    if (text.empty()) return kEmptyString;
    const MutexLock lock(m_mutex);
    const auto [it, inserted] = m_ids.try_emplace(std::string(text), StringId{m_next});
    if (inserted) {
        ++m_next;
        m_fresh.emplace_back(text);
        m_texts.push_back(&it->first);  // a map's keys stay where they are
    }
    return it->second;
}

std::string StringTable::text(StringId id) const {
    const MutexLock lock(m_mutex);
    return id.value == 0 || id.value > m_texts.size() ? std::string() : *m_texts[id.value - 1];
}

StringTable::Fresh StringTable::takeFresh() {
    const MutexLock lock(m_mutex);
    Fresh fresh;
    fresh.first = StringId{m_next - static_cast<std::uint32_t>(m_fresh.size())};
    fresh.texts = std::exchange(m_fresh, {});
    return fresh;
}

}  // namespace shardscope::capture
