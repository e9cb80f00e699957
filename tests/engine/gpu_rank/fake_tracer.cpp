#include "tests/engine/gpu_rank/fake_tracer.h"

#include "storage/model/host_clock.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

namespace shardscope::test {
namespace {

using capture::AnnotationStack;
using capture::DeviceLevel;

/// Longer than anybody is to wait.
constexpr std::chrono::seconds kAWhile{60};
constexpr LaneId kStream = lanes::kStreams.at(0);

class FakeTracer;
std::atomic<FakeTracer*> g_tracer{nullptr};

[[noreturn]] void trap(const char* what) {
    std::fprintf(stderr, "fake tracer: %s\n", what);
    std::abort();
}

struct Open {
    std::uint64_t id;
    std::int64_t startNs;
    bool launched = false;  ///< what it encloses has
};
thread_local std::vector<Open> t_open;

void push(AnnotationStack stack, std::uint64_t id) {
    if (stack == AnnotationStack::kContext) t_open.push_back({id, hostNow()});
}
void pop(AnnotationStack stack);

constexpr capture::DeviceAnnotator kAnnotator{&push, &pop};

class FakeTracer final : public collectors::DeviceCollector {
public:
    FakeTracer(DeviceLevel level, capture::DeviceSink& sink, const FakeTracing& how)
        : m_sink(sink), m_how(how), m_level(level) {
        sink.declareLane(kStream, LaneRole::kCompute, "stream 7", {});
        g_tracer.store(this);
    }
    ~FakeTracer() override { g_tracer.store(nullptr); }

    void setLevel(DeviceLevel level) override {
        if (level < m_level.load() && !m_how.deviceIsIdle())
            trap("switched off while the device works: kernels would last until it is on again");
        m_level.store(level);
    }
    [[nodiscard]] bool wantsIdle() const override { return true; }
    void deviceIdle() override { handOver(); }
    /// A device that works keeps what it has, unless all of it is wanted.
    bool flush(bool everything, std::chrono::milliseconds atMost) override {
        if (m_how.held) {
            std::this_thread::sleep_for(std::min<std::chrono::milliseconds>(atMost, kAWhile));
            return false;
        }
        if (everything) handOver();
        return true;
    }
    capture::DeviceCounts counts() const override {
        const std::lock_guard lock(m_mutex);
        capture::DeviceCounts counts;
        counts.records = counts.kernels = m_kernels;
        if (m_level.load() >= DeviceLevel::kLaunches)
            counts.launches = counts.attributed = m_kernels;
        return counts;
    }
    const capture::DeviceAnnotator& annotator() const override { return kAnnotator; }

    void kernel(std::uint64_t id, std::int64_t startNs) {
        if (m_level.load() < DeviceLevel::kKernels) return;
        const bool known = m_level.load() >= DeviceLevel::kLaunches;
        const capture::LaunchContext context =
            known ? capture::unpack(id) : capture::LaunchContext();
        SpanEvent span;
        span.start = m_sink.at(startNs);
        span.duration = {hostNow() - startNs};
        span.lane = kStream;
        span.name =
            context.operatorName.value != 0 ? context.operatorName : m_sink.intern("kernel");
        span.step = context.step;
        span.layer = context.layer;
        span.phase = context.phase;
        const std::lock_guard lock(m_mutex);
        span.correlation = ++m_kernels;
        m_spans.push_back(span);
    }

private:
    void handOver() {
        std::vector<SpanEvent> spans;
        {
            const std::lock_guard lock(m_mutex);
            spans.swap(m_spans);
        }
        m_sink.spans(spans);
    }

    capture::DeviceSink& m_sink;
    const FakeTracing m_how;
    std::atomic<DeviceLevel> m_level;
    mutable std::mutex m_mutex;
    std::vector<SpanEvent> m_spans;
    std::uint64_t m_kernels = 0;
};

void pop(AnnotationStack stack) {
    if (stack != AnnotationStack::kContext || t_open.empty()) return;
    const Open innermost = t_open.back();
    t_open.pop_back();
    if (!t_open.empty()) t_open.back().launched = true;
    if (FakeTracer* tracer = g_tracer.load(); tracer != nullptr && !innermost.launched)
        tracer->kernel(innermost.id, innermost.startNs);
}

}  // namespace

collectors::DeviceCollectorStart startFakeTracing(DeviceLevel level, capture::DeviceSink& sink,
                                                  const FakeTracing& how) {
    return {std::make_unique<FakeTracer>(level, sink, how), std::nullopt};
}

}  // namespace shardscope::test
