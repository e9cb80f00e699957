#include "tests/engine/gpu_rank/fake_tracer.h"

#include "storage/model/host_clock.h"

#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

namespace shardscope::test {
namespace {

using capture::AnnotationStack;
using capture::DeviceLevel;

constexpr LaneId kStream = lanes::kStreams.at(0);

class FakeTracer;
std::atomic<FakeTracer*> g_tracer{nullptr};
thread_local std::vector<std::pair<std::uint64_t, std::int64_t>> t_open;

void push(AnnotationStack stack, std::uint64_t id) {
    if (stack == AnnotationStack::kContext) t_open.emplace_back(id, hostNow());
}
void pop(AnnotationStack stack);

constexpr capture::DeviceAnnotator kAnnotator{&push, &pop};

class FakeTracer final : public collectors::DeviceCollector {
public:
    FakeTracer(DeviceLevel level, capture::DeviceSink& sink) : m_sink(sink), m_level(level) {
        sink.declareLane(kStream, LaneRole::kCompute, "stream 7", {});
        g_tracer.store(this);
    }
    ~FakeTracer() override { g_tracer.store(nullptr); }

    void setLevel(DeviceLevel level) override { m_level.store(level); }
    void flush(bool) override {
        std::vector<SpanEvent> spans;
        {
            const std::lock_guard lock(m_mutex);
            spans.swap(m_spans);
        }
        m_sink.spans(spans);
    }
    capture::DeviceCounts counts() const override {
        const std::lock_guard lock(m_mutex);
        capture::DeviceCounts counts;
        counts.records = counts.kernels = counts.launches = counts.attributed = m_kernels;
        return counts;
    }
    const capture::DeviceAnnotator& annotator() const override { return kAnnotator; }

    void kernel(std::uint64_t id, std::int64_t startNs) {
        if (m_level.load() < DeviceLevel::kKernels) return;
        const capture::LaunchContext context = capture::unpack(id);
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
    capture::DeviceSink& m_sink;
    std::atomic<DeviceLevel> m_level;
    mutable std::mutex m_mutex;
    std::vector<SpanEvent> m_spans;
    std::uint64_t m_kernels = 0;
};

void pop(AnnotationStack stack) {
    if (stack != AnnotationStack::kContext || t_open.empty()) return;
    const auto [id, startNs] = t_open.back();
    t_open.pop_back();
    if (FakeTracer* tracer = g_tracer.load()) tracer->kernel(id, startNs);
}

}  // namespace

collectors::DeviceCollectorStart startFakeTracing(DeviceLevel level, capture::DeviceSink& sink) {
    return {std::make_unique<FakeTracer>(level, sink), std::nullopt};
}

}  // namespace shardscope::test
