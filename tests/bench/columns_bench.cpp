// Speed and size of column chunks and pyramids on operator traces: nested spans, 200 names.
#include "storage/columns/chunk.h"
#include "storage/columns/pyramid.h"
#include "tests/support/random_events.h"

#include <benchmark/benchmark.h>

#include <algorithm>

namespace shardscope::columns {
namespace {

/// As a training step emits them: the same 500 operators again and again, with noise in time.
std::vector<SpanEvent> operatorTrace() {
    test::RandomEvents random(3);
    const std::vector<SpanEvent> pattern = random.nestedSpans(500, {0});
    std::vector<SpanEvent> events;
    std::int64_t origin = 0;
    for (std::int32_t step = 0; events.size() < kMaxChunkEvents; ++step) {
        for (const SpanEvent& operation : pattern) {
            if (events.size() == kMaxChunkEvents) break;
            SpanEvent event = operation;
            event.start.ns += origin + random.between(0, 200);
            event.duration.ns += random.between(0, event.duration.ns / 20);
            event.lane = {2};
            event.step = {step};
            event.arguments = {operation.name.value + 300};
            event.correlation = events.size() + 1;
            events.push_back(event);
        }
        origin += pattern.back().end().ns + 50'000;
    }
    std::stable_sort(events.begin(), events.end(),
                     [](const SpanEvent& a, const SpanEvent& b) { return a.start < b.start; });
    return events;
}

void report(benchmark::State& state, std::size_t bytes) {
    const auto events = static_cast<double>(kMaxChunkEvents);
    state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) *
                            static_cast<std::int64_t>(kMaxChunkEvents));
    state.counters["B/event"] = static_cast<double>(bytes) / events;
}

void encodeOperators(benchmark::State& state) {
    const auto events = operatorTrace();
    std::size_t bytes = 0;
    for (auto _ : state) bytes = encodeSpans({0}, events).size();
    report(state, bytes);
}
BENCHMARK(encodeOperators)->Unit(benchmark::kMillisecond);

void decodeOperators(benchmark::State& state) {
    const ChunkBytes chunk = encodeSpans({0}, operatorTrace());
    for (auto _ : state) benchmark::DoNotOptimize(decodeSpans(chunk));
    report(state, chunk.size());
}
BENCHMARK(decodeOperators)->Unit(benchmark::kMillisecond);

std::vector<MemoryEvent> memoryTrace() {
    test::RandomEvents random(4);
    std::vector<MemoryEvent> events(kMaxChunkEvents);
    std::int64_t time = 0;
    for (std::size_t i = 0; i < events.size(); ++i) {
        MemoryEvent& event = events[i];
        time += random.between(500, 50'000);
        event.time = {time};
        const auto block = static_cast<std::uint64_t>(random.between(0, 300));
        event.address = 0x7f0000000000 + block * 1'179'648;
        event.size = {static_cast<std::int64_t>(block % 40 * 4096 + 512)};
        event.action = static_cast<MemoryAction>(1 + i % 2);
        event.category = static_cast<MemoryCategory>(block % kMemoryCategoryCount);
        event.owner = {static_cast<std::uint32_t>(block % 60)};
        event.step = {static_cast<std::int32_t>(i / 4000)};
    }
    return events;
}

void encodeMemoryEvents(benchmark::State& state) {
    const auto events = memoryTrace();
    std::size_t bytes = 0;
    for (auto _ : state) bytes = encodeMemory({0}, events).size();
    report(state, bytes);
}
BENCHMARK(encodeMemoryEvents)->Unit(benchmark::kMillisecond);

void decodeMemoryEvents(benchmark::State& state) {
    const ChunkBytes chunk = encodeMemory({0}, memoryTrace());
    for (auto _ : state) benchmark::DoNotOptimize(decodeMemory(chunk));
    report(state, chunk.size());
}
BENCHMARK(decodeMemoryEvents)->Unit(benchmark::kMillisecond);

void feedPyramid(benchmark::State& state) {
    std::vector<SpanSummary> items;
    for (const SpanEvent& event : operatorTrace()) items.push_back(SpanSummary::of(event));
    for (auto _ : state) {
        LanePyramid<SpanSummary> pyramid([](const auto&) -> Result<std::vector<SpanSummary>> {
            return std::vector<SpanSummary>{};
        });
        if (!pyramid.add(items)) state.SkipWithError("the pyramid refused events");
        benchmark::DoNotOptimize(pyramid.size());
    }
    report(state, 0);
}
BENCHMARK(feedPyramid)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace shardscope::columns

BENCHMARK_MAIN();
