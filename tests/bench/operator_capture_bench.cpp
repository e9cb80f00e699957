// What the operator collector adds to an operator on its thread: operator_capture_bench. A drain
// of the session runs behind each batch, untimed. Operators that take next to no time themselves,
// of which a step on a GPU has thousands.
#include "profiler/collectors/operators/operator_collector.h"

#include <ATen/ATen.h>
#include <benchmark/benchmark.h>

#include <optional>

namespace {

using namespace shardscope;

class Nowhere final : public capture::EventSink {
public:
    void strings(StringId, const std::vector<std::string>&) override {}
    void lane(const LaneFacts&) override {}
    void chunk(const columns::ChunkBytes&) override {}
};

constexpr int kBatch = 10'000;

template <class Call>
void operators(benchmark::State& state, const Call& call) {
    Nowhere nowhere;
    capture::CaptureSession session({}, nowhere);
    std::optional<collectors::OperatorCollector> collector;
    if (state.range(0) != 0) collector.emplace(session);
    for (auto _ : state) {
        for (int i = 0; i < kBatch; ++i) call();
        state.PauseTiming();
        session.drain(0, true);
        state.ResumeTiming();
    }
    state.SetItemsProcessed(state.iterations() * kBatch);
}

void empty(benchmark::State& state) {
    operators(state, [] { benchmark::DoNotOptimize(at::empty({64})); });
}

void transpose(benchmark::State& state) {
    const at::Tensor x = at::zeros({64, 32});
    operators(state, [&] { benchmark::DoNotOptimize(x.transpose(0, 1)); });
}

void product(benchmark::State& state) {
    const at::Tensor a = at::zeros({2, 2}), b = at::zeros({2, 2});
    at::Tensor out = at::zeros({2, 2});
    operators(state, [&] { at::addmm_out(out, out, a, b); });
}

BENCHMARK(empty)->Arg(0)->Arg(1);
BENCHMARK(transpose)->Arg(0)->Arg(1);
BENCHMARK(product)->Arg(0)->Arg(1);

}  // namespace

BENCHMARK_MAIN();
