// What it costs to move a time onto the recording's clock, and what a round of questions costs its
// asker beside the messages.
#include "engine/launch/clock_model.h"
#include "engine/run/protocol/frame.h"
#include "storage/model/host_clock.h"
#include "storage/model/recording_clock.h"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <variant>

namespace shardscope {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

/// As it was before clocks were corrected.
void difference(benchmark::State& state) {
    std::int64_t originNs = hostNow(), time = originNs;
    benchmark::DoNotOptimize(originNs);
    for (auto _ : state) benchmark::DoNotOptimize(Timestamp{(time += 17) - originNs});
}
BENCHMARK(difference);

/// A rank after so many corrections, at the present.
void at(benchmark::State& state) {
    std::int64_t time = hostNow();
    RecordingClock clock(time);
    for (std::int64_t i = 0; i < state.range(0); ++i, time += 4 * kSecond)
        clock.correct({time, i, 20'000}, time);
    for (auto _ : state) benchmark::DoNotOptimize(clock.at(time += 17));
}
BENCHMARK(at)->Arg(0)->Arg(1)->Arg(1000);

void reading(benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(hostNow());
}
BENCHMARK(reading);

/// Eight questions and answers as messages, both sides, without the sockets.
void messages(benchmark::State& state) {
    std::size_t bytes = 0;
    for (auto _ : state) {
        bytes = 0;
        launch::ClockExchange exchange(8);
        while (const auto asked = exchange.ask(hostNow())) {
            const auto question = run::encodeMessage(run::kNoRank, run::encode(*asked));
            const auto heard = run::decode(run::encode(*asked));
            const run::ClockAnswer told{std::get<run::ClockAsked>(*heard).sentNs, hostNow(),
                                        hostNow()};
            const auto answer = run::encodeMessage(run::kNoRank, run::encode(told));
            const auto answered = run::decode(run::encode(told));
            exchange.take(std::get<run::ClockAnswer>(*answered), hostNow());
            bytes += question.size() + answer.size();
        }
        benchmark::DoNotOptimize(exchange.aheadNs());
    }
    state.counters["bytes"] = static_cast<double>(bytes);
}
BENCHMARK(messages)->Unit(benchmark::kMicrosecond);

void model(benchmark::State& state) {
    launch::ClockModel model;
    std::int64_t time = 0, spread = 0;
    for (auto _ : state) {
        time += 4 * kSecond;
        spread = (spread * 31 + 7) % 20'000;
        benchmark::DoNotOptimize(model.add(
            {{time, time / 10'000 - 10'000 - spread}, {time, time / 10'000 + 30'000}}, time));
    }
}
BENCHMARK(model)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace shardscope

BENCHMARK_MAIN();
