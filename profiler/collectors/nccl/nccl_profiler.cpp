#include "profiler/collectors/nccl/nccl_profiler.h"

#include "storage/model/host_clock.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace shardscope::collectors {
namespace {

constexpr std::size_t kCommunicators = 256;

std::atomic<std::uint64_t> g_profilers{0};

// Handles are numbers: NCCL hands them back and never looks behind them.
void* toPointer(NcclHandleId handle) {
    return reinterpret_cast<void*>(handle);
}
NcclHandleId toHandle(const void* pointer) {
    return reinterpret_cast<NcclHandleId>(pointer);
}

void count(std::atomic<std::uint64_t>& counter) {
    counter.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

/// Constant-initialised and trivially destructible: touching it the first time costs nothing.
struct NcclProfiler::ThreadState {
    std::uint64_t profiler = 0;
    std::uint32_t ring = 0;
    NcclHandleId openLaunch = 0;  ///< its id is on the annotator's stack of this thread
    const capture::DeviceAnnotator* annotator = nullptr;
    NcclHandleId lastLaunch = 0;  ///< since the last call into NCCL
    NcclHandleId lastContext = 0;
    NcclHandleId lastGroup = 0;
};

NcclProfiler::NcclProfiler(const NcclProfilerOptions& options)
    : m_id(++g_profilers),
      m_pid(static_cast<int>(getpid())),
      m_mask(static_cast<int>(nccl::kCollApi | nccl::kP2pApi | nccl::kKernelLaunch | nccl::kColl |
                              nccl::kP2p |
                              (options.channels ? std::uint64_t{nccl::kKernelCh} : 0))),
      m_events(options.handles),
      m_contexts(kCommunicators),
      m_recording(options.recording) {
    for (std::size_t i = 0; i < std::max<std::size_t>(1, options.rings); ++i)
        m_rings.push_back(std::make_unique<NcclRing>(options.ringCapacity));
}

NcclProfiler::~NcclProfiler() = default;

NcclProfiler::ThreadState& NcclProfiler::thread() noexcept {
    static thread_local constinit ThreadState state;
    if (state.profiler != m_id) {
        const std::uint32_t number = m_threads.fetch_add(1, std::memory_order_relaxed);
        if (state.openLaunch != 0) state.annotator->pop(capture::AnnotationStack::kNcclLaunch);
        state = {m_id, number % static_cast<std::uint32_t>(m_rings.size())};
    }
    return state;
}

int NcclProfiler::wantedMask() const {
    return m_recording ? m_mask : 0;
}

void NcclProfiler::setRecording(bool on) {
    const MutexLock lock(m_mutex);
    m_recording = on;
    if (m_activationMask == nullptr) return;
    std::atomic_ref(*m_activationMask).store(wantedMask(), std::memory_order_relaxed);
}

void NcclProfiler::initialise(void** context, std::uint64_t id, int* mask, const char* name,
                              int nodes, int ranks, int rank) {
    if (context == nullptr) return;
    *context = toPointer(m_contexts.open([&](NcclHandleId) { return Communicator{id, ranks}; }));
    const MutexLock lock(m_mutex);
    m_communicators.push_back({id, name == nullptr ? "" : name, nodes, ranks, rank});
    ++m_live;
    // One mask serves all communicators: what the run has set since the first one stays.
    if (mask == nullptr || mask == m_activationMask) return;
    m_activationMask = mask;
    std::atomic_ref(*mask).store(wantedMask(), std::memory_order_relaxed);
}

void NcclProfiler::finalise(void* context) noexcept {
    const NcclHandleId handle = toHandle(context);
    if (!m_contexts.close(handle)) return;
    // What is still open never returned: it is reported without an end.
    m_events.forEachOpen([&](NcclHandleId open, const Event& event) {
        if (event.context != handle || !m_events.close(open)) return;
        if (event.type & (nccl::kCollApi | nccl::kP2pApi | nccl::kKernelLaunch)) emit(event.record);
    });
    const MutexLock lock(m_mutex);
    if (--m_live == 0) m_activationMask = nullptr;  // NCCL may unload and come back elsewhere
}

NcclProfiler::Event NcclProfiler::blank(NcclHandleId context,
                                        const Descriptor& descriptor) noexcept {
    Event event;
    event.type = descriptor.type;
    event.context = context;
    Communicator communicator;
    if (m_contexts.read(context, communicator)) {
        event.record.communicator = communicator.id;
        event.record.ranks = communicator.ranks;
    } else {
        count(m_unknown);
    }
    event.record.own = capture::threadCollective();
    event.record.startNs = hostNow();
    return event;
}

void NcclProfiler::startEvent(void* context, void** handle, const Descriptor* descriptor) noexcept {
    if (handle == nullptr) return;
    *handle = nullptr;
    if (descriptor == nullptr) return;
    NcclHandleId opened = 0;
    switch (descriptor->type) {
        case nccl::kGroupApi:
            opened = startGroup(blank(toHandle(context), *descriptor));
            break;
        case nccl::kCollApi:
        case nccl::kP2pApi:
            opened = startCall(blank(toHandle(context), *descriptor), *descriptor);
            break;
        case nccl::kKernelLaunch:
            opened = startLaunch(blank(toHandle(context), *descriptor), *descriptor);
            break;
        case nccl::kColl:
        case nccl::kP2p:
            opened = startTask(blank(toHandle(context), *descriptor), *descriptor);
            break;
        case nccl::kKernelCh:
            opened = startChannel(blank(toHandle(context), *descriptor), *descriptor);
            break;
        default:
            return ignore(*descriptor);
    }
    if (opened == 0) count(m_refused);
    *handle = toPointer(opened);
}

/// Ancestors of what we asked for, and what others may have switched on.
void NcclProfiler::ignore(const Descriptor& descriptor) noexcept {
    count(m_ignored);
    // Its parentObj is another process's number: nothing below may be looked up by it.
    if (descriptor.type == nccl::kProxyOp && descriptor.proxyOp.pid != m_pid) count(m_foreign);
}

NcclHandleId NcclProfiler::startGroup(Event event) noexcept {
    thread().lastLaunch = 0;
    return m_events.open([&](NcclHandleId) { return event; });
}

NcclHandleId NcclProfiler::startCall(Event event, const Descriptor& descriptor) noexcept {
    thread().lastLaunch = 0;
    NcclRecord& record = event.record;
    record.kind = NcclRecordKind::kApi;
    event.group = toHandle(descriptor.parentObj);
    if (descriptor.type == nccl::kCollApi) {
        const nccl::CollApiEvent& call = descriptor.collApi;
        record.function = call.func;
        record.callCount = call.count;
        record.callDataType = call.datatype;
        record.peer = call.root;
        record.graphCaptured = call.graphCaptured;
    } else {
        const nccl::P2pApiEvent& call = descriptor.p2pApi;
        record.function = call.func;
        record.callCount = call.count;
        record.callDataType = call.datatype;
        record.graphCaptured = call.graphCaptured;
    }
    return m_events.open([&](NcclHandleId) { return event; });
}

NcclHandleId NcclProfiler::startLaunch(Event event, const Descriptor& descriptor) noexcept {
    ThreadState& state = thread();
    if (state.openLaunch != 0) popLaunch(state.openLaunch);  // its stop was lost
    event.record.kind = NcclRecordKind::kLaunch;
    event.group = toHandle(descriptor.parentObj);
    const NcclHandleId launch = m_events.open([&](NcclHandleId handle) {
        event.record.launch = handle;
        return event;
    });
    state.lastLaunch = launch;
    state.lastContext = event.context;
    state.lastGroup = event.group;
    if (launch == 0) return 0;
    if (event.group != 0) m_events.setNote(event.group, launch);
    const auto* annotator = capture::deviceAnnotator().load(std::memory_order_acquire);
    if (annotator == nullptr) return launch;
    annotator->push(capture::AnnotationStack::kNcclLaunch, launch);
    state.annotator = annotator;
    state.openLaunch = launch;
    return launch;
}

/// On this thread only: stacks are a thread's own.
void NcclProfiler::popLaunch(NcclHandleId handle) noexcept {
    ThreadState& state = thread();
    if (state.openLaunch != handle) return;
    state.openLaunch = 0;
    state.annotator->pop(capture::AnnotationStack::kNcclLaunch);
}

/// Launch and tasks of a plan follow each other on one thread; when a host callback starts the
/// tasks instead, the group they share leads back.
NcclHandleId NcclProfiler::launchOf(const Event& event) noexcept {
    const ThreadState& state = thread();
    const bool sameGroup =
        event.group == 0 || state.lastGroup == 0 || event.group == state.lastGroup;
    if (state.lastLaunch != 0 && state.lastContext == event.context && sameGroup)
        return state.lastLaunch;
    return event.group != 0 ? m_events.note(event.group) : 0;
}

NcclHandleId NcclProfiler::startTask(Event event, const Descriptor& descriptor) noexcept {
    NcclRecord& record = event.record;
    Event call;
    if (m_events.read(toHandle(descriptor.parentObj), call) &&
        call.record.kind == NcclRecordKind::kApi) {
        event.group = call.group;
        record.own = call.record.own;
        record.callCount = call.record.callCount;
        record.callDataType = call.record.callDataType;
        record.graphCaptured = call.record.graphCaptured;
    }
    record.launch = launchOf(event);
    record.endNs = record.startNs;
    if (descriptor.type == nccl::kColl) {
        const nccl::CollEvent& task = descriptor.coll;
        record.kind = NcclRecordKind::kCollective;
        record.sequence = task.seqNumber;
        record.function = task.func;
        record.count = task.count;
        record.dataType = task.datatype;
        record.algorithm = task.algo;
        record.protocol = task.proto;
        record.peer = task.root;
        record.channels = task.nChannels;
    } else {
        const nccl::P2pEvent& task = descriptor.p2p;
        record.kind = NcclRecordKind::kPointToPoint;
        record.function = task.func;
        record.count = task.count;
        record.dataType = task.datatype;
        record.peer = task.peer;
        record.channels = task.nChannels;
    }
    emit(record);
    return m_events.open([&](NcclHandleId) { return event; });
}

NcclHandleId NcclProfiler::startChannel(Event event, const Descriptor& descriptor) noexcept {
    Event task;
    if (!m_events.read(toHandle(descriptor.parentObj), task)) count(m_stale);
    event.record = task.record;
    event.record.kind = NcclRecordKind::kChannel;
    event.record.channels = descriptor.kernelCh.channelId;
    event.record.startNs = static_cast<std::int64_t>(descriptor.kernelCh.pTimer);
    event.record.endNs = 0;
    return m_events.open([&](NcclHandleId) { return event; });
}

void NcclProfiler::stopEvent(void* handle) noexcept {
    const NcclHandleId id = toHandle(handle);
    if (id == 0) return;
    Event event;
    if (!m_events.read(id, event) || !m_events.close(id)) {
        popLaunch(id);  // overwritten while open: the stack must balance all the same
        return count(m_stale);
    }
    if (event.type == nccl::kKernelLaunch) {
        const ThreadState& state = thread();
        if (state.lastLaunch != id && state.openLaunch != id) count(m_elsewhere);
        popLaunch(id);
    }
    if ((event.type & (nccl::kCollApi | nccl::kP2pApi | nccl::kKernelLaunch)) == 0) return;
    event.record.endNs = hostNow();
    emit(event.record);
}

void NcclProfiler::recordEventState(void* handle, int state,
                                    const nccl::EventStateArgs* args) noexcept {
    if (state != nccl::kStateKernelChStop || args == nullptr) return;
    Event event;
    if (!m_events.read(toHandle(handle), event) || event.type != nccl::kKernelCh) return;
    event.record.endNs = static_cast<std::int64_t>(args->kernelCh.pTimer);
    emit(event.record);
}

void NcclProfiler::emit(const NcclRecord& record) noexcept {
    if (!m_rings[thread().ring]->push(record)) count(m_dropped);
}

void NcclProfiler::number(NcclRecord& record) {
    if (record.kind != NcclRecordKind::kPointToPoint || record.function == nullptr) return;
    const bool send = std::strcmp(record.function, "Send") == 0;
    record.sequence = ++m_sequences[{record.communicator, record.peer, send}];
}

void NcclProfiler::drain(std::vector<NcclRecord>& records) {
    const std::size_t before = records.size();
    NcclRecord record;
    for (const auto& ring : m_rings) {
        while (ring->pop(record)) {
            number(record);
            records.push_back(record);
        }
    }
    m_drained.fetch_add(records.size() - before, std::memory_order_relaxed);
}

std::vector<NcclCommunicator> NcclProfiler::communicators() const {
    const MutexLock lock(m_mutex);
    return m_communicators;
}

NcclCounts NcclProfiler::counts() const {
    return {m_drained.load(), m_dropped.load(), m_refused.load(), m_stale.load(),
            m_ignored.load(), m_foreign.load(), m_unknown.load(), m_elsewhere.load()};
}

}  // namespace shardscope::collectors
