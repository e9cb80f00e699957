// Everything one rank records on its way from the producing threads to encoded chunks.
//
// Producers (step, communication and other threads) push into queues of their own; one
// draining thread calls drain() a few times a second, which sorts, encodes and hands chunks of
// at most a second's events to the sink. Knows nothing of the engine, of SQL or of vendors.
#pragma once

#include "profiler/capture/thread_queue.h"
#include "storage/columns/chunk.h"
#include "storage/model/ids.h"
#include "storage/model/mutex.h"
#include "storage/model/recording.h"
#include "storage/model/recording_clock.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardscope::capture {

// Texts of one rank numbered in order of first use. Any thread.

class StringTable {
public:
    /// Callers on a hot path keep a cache of their own.
    StringId intern(std::string_view text);

    /// Empty when the id was never given. Not for hot paths.
    [[nodiscard]] std::string text(StringId id) const;

    struct Fresh {
        StringId first;
        std::vector<std::string> texts;
    };
    /// Texts interned since the last call, in order of their ids.
    Fresh takeFresh();

private:
    mutable Mutex m_mutex;
    std::unordered_map<std::string, StringId> m_ids SHARDSCOPE_GUARDED_BY(m_mutex);
    std::vector<const std::string*> m_texts SHARDSCOPE_GUARDED_BY(m_mutex);  ///< by id - 1
    std::vector<std::string> m_fresh SHARDSCOPE_GUARDED_BY(m_mutex);
    std::uint32_t m_next SHARDSCOPE_GUARDED_BY(m_mutex) = 1;  ///< 0 is the empty string
};

/// Where drained data goes. Called on the draining thread; strings come before chunks that
/// use them.
class EventSink {
public:
    virtual ~EventSink() = default;
    virtual void strings(StringId first, const std::vector<std::string>& texts) = 0;
    virtual void lane(const LaneFacts& lane) = 0;
    virtual void chunk(const columns::ChunkBytes& bytes) = 0;
};

/// What the calling thread is doing; copied into the events it produces.
struct Context {
    StepIndex step = kNoStep;
    LayerIndex layer = kNoLayer;
    Phase phase = Phase::kNone;
    StringId operatorName;  ///< outermost operator running
};
[[nodiscard]] Context& threadContext();

/// Makes a thread's context stand in for those of threads that have none: autograd's device
/// threads run backward for the step thread, which waits meanwhile. Null: none.
void lendContext(const Context* context);
/// The calling thread's own context, or the one lent.
[[nodiscard]] const Context& effectiveContext();

struct SessionOptions {
    RankId rank;
    std::int64_t originNs = 0;  ///< host clock at the recording clock's zero
    std::size_t queueCapacity = 1u << 16;
    std::size_t mostQueues = 4096;  ///< of threads; what further ones push is dropped and counted
    std::int64_t flushNs = 900'000'000;  ///< longest time an event waits in a rank
    /// Sees memory events by time before they are encoded, on the draining thread, and may change
    /// them, keep some back and give back those of before; `all`: none may stay. Null: none.
    std::function<void(std::vector<MemoryEvent>& events, bool all)> memoryFilter;
};

class CaptureSession {
public:
    CaptureSession(const SessionOptions& options, EventSink& sink);
    ~CaptureSession();
    CaptureSession(const CaptureSession&) = delete;
    CaptureSession& operator=(const CaptureSession&) = delete;

    [[nodiscard]] Timestamp at(std::int64_t hostNs) const { return m_clock.at(hostNs); }
    /// From the host's clock to the recording's; corrected by one thread, read by any.
    [[nodiscard]] RecordingClock& clock() { return m_clock; }
    StringId intern(std::string_view text) { return m_strings.intern(text); }
    /// Of an id that intern() gave; empty: it did not.
    [[nodiscard]] std::string text(StringId id) const { return m_strings.text(id); }
    /// Differs between sessions of one process; ids cached per thread belong to one.
    [[nodiscard]] std::uint64_t generation() const { return m_generation; }

    /// Makes a lane known. `order`: its place within the rank, top first; its id unless said.
    void declareLane(LaneId lane, LaneRole role, const std::string& name,
                     const std::string& unit = {}, std::optional<std::int32_t> order = {});
    void declareLane(const FixedLane& lane);

    /// Queue of the calling thread, perhaps one that another thread had before it ended. In
    /// destructors that run after the thread's own, one for all threads.
    ThreadQueue& threadQueue();
    /// For constructors of what a thread has of its own (thread_own.h) and keeps its queue in:
    /// the thread gives its queue back after that has ended.
    static void keepQueueLonger();
    /// Operator lane of the calling thread, declared at its first call: lanes::kOperators for the
    /// first thread, "operators (thread N)" for others.
    LaneId operatorLane();

    /// Rare events (a few hundred a second): under a lock, bounded.
    void push(const CollectiveEvent& event);
    void push(const CounterEvent& event);
    /// Many at once, from a thread that decodes what a device recorded; under a lock, bounded.
    void push(const std::vector<SpanEvent>& spans);

    /// Operators and memory events are taken only while on; a pause loses nothing else.
    void setDetailed(bool on) { m_detailed.store(on, std::memory_order_relaxed); }
    [[nodiscard]] bool detailed() const { return m_detailed.load(std::memory_order_relaxed); }

    /// Moves queued events on; encodes what is older than flushNs, or all when `everything`.
    void drain(std::int64_t nowNs, bool everything);

    [[nodiscard]] std::uint64_t emitted() const;
    [[nodiscard]] std::uint64_t dropped() const;

private:
    static constexpr std::size_t kLateCapacity = 1024;

    std::shared_ptr<ThreadQueue> newQueue();
    void collect();
    void send(bool everything);
    template <class Event, class Encode>
    void sendChunks(std::vector<Event>& events, Encode encode);

    const SessionOptions m_options;
    RecordingClock m_clock;
    EventSink& m_sink;
    const std::uint64_t m_generation;  ///< tells this session's thread queues from older ones
    StringTable m_strings;
    ThreadQueue m_late{kLateCapacity, true};
    std::atomic<bool> m_detailed{true};

    mutable Mutex m_mutex;
    std::vector<std::shared_ptr<ThreadQueue>> m_queues SHARDSCOPE_GUARDED_BY(m_mutex);
    std::vector<LaneFacts> m_freshLanes SHARDSCOPE_GUARDED_BY(m_mutex);
    std::uint32_t m_operatorLanes SHARDSCOPE_GUARDED_BY(m_mutex) = 0;
    std::vector<CollectiveEvent> m_newCollectives SHARDSCOPE_GUARDED_BY(m_mutex);
    std::vector<CounterEvent> m_newCounters SHARDSCOPE_GUARDED_BY(m_mutex);
    std::vector<SpanEvent> m_newSpans SHARDSCOPE_GUARDED_BY(m_mutex);
    std::uint64_t m_rareEmitted SHARDSCOPE_GUARDED_BY(m_mutex) = 0;
    std::uint64_t m_rareDropped SHARDSCOPE_GUARDED_BY(m_mutex) = 0;

    // Draining thread.
    std::vector<SpanEvent> m_spans;
    std::vector<MemoryEvent> m_memory;
    std::vector<CollectiveEvent> m_collectives;
    std::vector<CounterEvent> m_counters;
    std::int64_t m_lastSendNs = 0;
};

}  // namespace shardscope::capture
