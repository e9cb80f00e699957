// NCCL's profiler plugin: writes down which collective went into which kernel launch.
//
// NCCL finds the exported symbol `ncclProfiler_v5` of the executable when NCCL_PROFILER_PLUGIN is
// STATIC_PLUGIN, and calls it from application, proxy and host-callback threads. The callbacks
// never lock, allocate, do I/O or call CUDA, and always report success. Around each kernel launch
// an id goes onto AnnotationStack::kNcclLaunch, by which the device tracer recognises the kernel.
#pragma once

#include "profiler/capture/device_annotation.h"
#include "profiler/collectors/nccl/nccl_profiler_abi.h"
#include "profiler/collectors/nccl/nccl_records.h"
#include "profiler/collectors/nccl/nccl_ring.h"
#include "storage/model/mutex.h"

#include <atomic>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

namespace shardscope::collectors {

struct NcclProfilerOptions {
    std::size_t rings = 16;              ///< threads share them in turn beyond that
    std::size_t ringCapacity = 1 << 11;  ///< records a ring holds between two drains
    std::size_t handles = 1 << 12;       ///< remembered after their stop, for late children
    /// Also channel times from the device's clock. Gives every plan a proxy operation: not
    /// together with CUDA graphs, and costly for small messages.
    bool channels = false;
    bool recording = true;  ///< from the first communicator on
};

class NcclProfiler {
public:
    explicit NcclProfiler(const NcclProfilerOptions& options = {});
    ~NcclProfiler();
    NcclProfiler(const NcclProfiler&) = delete;
    NcclProfiler& operator=(const NcclProfiler&) = delete;

    /// What the exported symbol forwards to; null: nothing is recorded. The profiler must stay
    /// alive until NCCL makes no more calls, in practice until the process ends.
    static void install(NcclProfiler* profiler);

    /// Any thread; takes effect with NCCL's next call, for communicators that exist as well.
    void setRecording(bool on);

    /// Appends what was recorded since. One draining thread; order holds within a thread only.
    void drain(std::vector<NcclRecord>& records);
    /// Those made so far, finalised ones included.
    [[nodiscard]] std::vector<NcclCommunicator> communicators() const;
    [[nodiscard]] NcclCounts counts() const;

    // The five callbacks; see nccl_profiler_abi.h.
    void initialise(void** context, std::uint64_t id, int* mask, const char* name, int nodes,
                    int ranks, int rank);
    void startEvent(void* context, void** handle, const nccl::EventDescriptor* descriptor) noexcept;
    void stopEvent(void* handle) noexcept;
    void recordEventState(void* handle, int state, const nccl::EventStateArgs* args) noexcept;
    void finalise(void* context) noexcept;

private:
    struct Communicator {
        std::uint64_t id = 0;
        std::int32_t ranks = 0;
    };
    struct Event {
        NcclRecord record;
        std::uint64_t type = 0;  ///< nccl::EventType
        NcclHandleId context = 0;
        NcclHandleId group = 0;  ///< GroupApi handle above it
    };
    struct ThreadState;
    using Descriptor = nccl::EventDescriptor;

    [[nodiscard]] ThreadState& thread() noexcept;
    [[nodiscard]] Event blank(NcclHandleId context, const Descriptor& descriptor) noexcept;
    NcclHandleId startGroup(Event event) noexcept;
    NcclHandleId startCall(Event event, const Descriptor& descriptor) noexcept;
    NcclHandleId startLaunch(Event event, const Descriptor& descriptor) noexcept;
    NcclHandleId startTask(Event event, const Descriptor& descriptor) noexcept;
    NcclHandleId startChannel(Event event, const Descriptor& descriptor) noexcept;
    [[nodiscard]] NcclHandleId launchOf(const Event& event) noexcept;
    void popLaunch(NcclHandleId handle) noexcept;
    void ignore(const Descriptor& descriptor) noexcept;
    void emit(const NcclRecord& record) noexcept;
    [[nodiscard]] int wantedMask() const SHARDSCOPE_REQUIRES(m_mutex);
    void number(NcclRecord& record);

    const std::uint64_t m_id;  ///< tells this profiler's thread states from an older one's
    const int m_pid;
    const int m_mask;
    std::vector<std::unique_ptr<NcclRing>> m_rings;
    HandleRing<Event> m_events;
    HandleRing<Communicator> m_contexts;
    std::atomic<std::uint32_t> m_threads{0};

    mutable Mutex m_mutex;  // initialise, finalise and the worker only
    bool m_recording SHARDSCOPE_GUARDED_BY(m_mutex);
    int* m_activationMask SHARDSCOPE_GUARDED_BY(m_mutex) = nullptr;
    int m_live SHARDSCOPE_GUARDED_BY(m_mutex) = 0;
    std::vector<NcclCommunicator> m_communicators SHARDSCOPE_GUARDED_BY(m_mutex);

    using Counter = std::atomic<std::uint64_t>;
    Counter m_dropped{0}, m_refused{0}, m_stale{0}, m_ignored{0}, m_foreign{0}, m_unknown{0},
        m_elsewhere{0};
    Counter m_drained{0};
    /// Point-to-point events carry no number: (communicator, peer, is a send) -> last given.
    std::map<std::tuple<std::uint64_t, std::int32_t, bool>, std::uint64_t> m_sequences;  // drain
};

}  // namespace shardscope::collectors
