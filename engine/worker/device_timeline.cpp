#include "engine/worker/device_timeline.h"

#include "storage/model/host_clock.h"

namespace shardscope::worker {
namespace {

/// Of the others. More are of no use where the device is done with each at once; then the host's
/// time ends it too.
constexpr int kFewest = 32, kMost = 8192;
constexpr std::int64_t kMostHostNs = 200'000'000;

void repeat(const std::function<void()>& work, int times) {
    for (int i = 0; i < times; ++i) work();
}

}  // namespace

DeviceTimeline::~DeviceTimeline() {
    for (const control::DeviceEvent event : m_free) m_runtime.destroy(event);
}

control::DeviceEvent DeviceTimeline::take() {
    {
        const MutexLock lock(m_mutex);
        if (!m_free.empty()) {
            const control::DeviceEvent event = m_free.back();
            m_free.pop_back();
            return event;
        }
    }
    return m_runtime.createEvent();
}

control::DeviceEvent DeviceTimeline::mark() {
    const control::DeviceEvent event = take();
    m_runtime.record(event, m_runtime.currentStream());
    return event;
}

control::DeviceEvent DeviceTimeline::markInGraph() {
    const control::DeviceEvent event = take();
    m_runtime.recordInGraph(event, m_runtime.currentStream());
    return event;
}

void DeviceTimeline::release(control::DeviceEvent mark) {
    const MutexLock lock(m_mutex);
    m_free.push_back(mark);
}

std::int64_t queuedNs(DeviceTimeline& timeline, const std::function<void()>& work,
                      const std::function<void()>& other, int times) {
    const std::int64_t start = hostNow();
    for (int others = kFewest;; others *= 4) {
        repeat(other, others);
        const control::DeviceEvent begin = timeline.mark();
        repeat(work, times);
        const control::DeviceEvent end = timeline.mark();
        const bool queued = !timeline.passed(begin);
        timeline.await(end);
        const auto [from, to] = timeline.hostNs(begin, end);
        timeline.release(begin);
        timeline.release(end);
        if (queued || others >= kMost || hostNow() - start > kMostHostNs)
            return (to - from) / times;
    }
}

}  // namespace shardscope::worker
