#include "engine/worker/queued_timing.h"

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
