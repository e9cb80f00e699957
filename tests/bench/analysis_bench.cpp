// How long the interval analyses take.
//
//   analysis_bench [RANKS] [EVENTS]          of RANKS ranks (8) with EVENTS events each (2 million)
//   analysis_bench --write RECORDING RANKS EVENTS
//                                            a recording of about EVENTS events a rank, for
//                                            `report`
//
// Events are drawn in memory as the reader hands them over: steps of phases and collectives whose
// arrivals differ, and on half of the ranks' events kernels of two streams.
#include "profiler/analysis/breakdown.h"
#include "profiler/analysis/communication/exposure.h"
#include "profiler/analysis/findings.h"
#include "profiler/analysis/report/report.h"
#include "storage/model/rank_facts.h"
#include "storage/model/step_facts.h"
#include "storage/recording/read/recording_reader.h"
#include "tests/support/sample_recording.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>

namespace shardscope::bench {
namespace {

constexpr std::int64_t kPhase = 20'000;       ///< ns of one piece of work
constexpr std::int64_t kLayersPerStep = 100;  ///< each a piece of work, a wait and a collective

struct Drawn {
    RecordingSummary summary;
    std::vector<RankEvents> ranks;
};

/// A layer: compute, a wait for its gather, and two kernels a phase.
class RankDrawing {
public:
    RankDrawing(RankId rank, int ranks) : m_random(rank.value + 1), m_ranks(ranks) {
        m_events.rank = rank;
    }

    void layer(StepIndex step, std::int16_t layer, std::int64_t at) {
        phase(step, layer, Phase::kForward, at, kPhase * 3 / 4);
        phase(step, layer, Phase::kWaitGather, at + kPhase * 3 / 4, kPhase / 4);
        for (int k = 0; k < 4; ++k)
            m_events.computeKernels.push_back(
                {{at + k * kPhase / 4}, {at + k * kPhase / 4 + kPhase / 8 + noise()}});
        collective(step, layer, at + kPhase / 2);
    }
    RankEvents take() { return std::move(m_events); }

private:
    std::int64_t noise() { return static_cast<std::int64_t>(m_random() % (kPhase / 8)); }

    void phase(StepIndex step, std::int16_t layer, Phase phase, std::int64_t at,
               std::int64_t length) {
        SpanEvent event;
        event.start = {at};
        event.duration = {length};
        event.step = step;
        event.layer = {layer};
        event.phase = phase;
        m_events.phases.push_back(event);
    }

    void collective(StepIndex step, std::int16_t layer, std::int64_t at) {
        CollectiveEvent event;
        event.issue = {at - noise()};
        event.start = {at};
        event.end = {at + kPhase / 2};
        event.operation = CollectiveOp::kAllGather;
        event.cause = Cause::kPrefetch;
        event.layer = {layer};
        event.step = step;
        event.sequence = m_sequence++;
        event.arrivals = {static_cast<std::size_t>(m_ranks), [&](std::size_t rank) {
                              return Timestamp{at + (rank == m_events.rank.value ? 0 : noise())};
                          }};
        m_events.communicationKernels.push_back({event.start, event.end});
        m_events.collectives.push_back(std::move(event));
    }

    RankEvents m_events;
    std::mt19937 m_random;
    std::uint64_t m_sequence = 0;
    int m_ranks;
};

/// Eight events a layer: two phases, four kernels, a collective and its kernel.
constexpr std::int64_t kEventsPerLayer = 8;

StepFacts stepOf(RankId rank, StepIndex step, std::int64_t firstLayer) {
    StepFacts facts;
    facts.rank = rank;
    facts.step = step;
    facts.start = {firstLayer * kPhase};
    facts.end = {(firstLayer + kLayersPerStep) * kPhase};
    return facts;
}

Drawn draw(int ranks, std::int64_t events) {
    Drawn drawn;
    drawn.summary.run.worldSize = ranks;
    const std::int64_t layers = events / kEventsPerLayer;
    for (int rank = 0; rank < ranks; ++rank) {
        const RankId id{static_cast<std::uint32_t>(rank)};
        RankDrawing drawing(id, ranks);
        for (std::int64_t at = 0; at < layers; ++at) {
            const StepIndex step{static_cast<std::int32_t>(at / kLayersPerStep)};
            if (at % kLayersPerStep == 0) drawn.summary.steps.push_back(stepOf(id, step, at));
            drawing.layer(step, static_cast<std::int16_t>(at % kLayersPerStep), at * kPhase);
        }
        drawn.ranks.push_back(drawing.take());
        RankFacts facts;
        facts.rank = id;
        drawn.summary.ranks.push_back(facts);
    }
    return drawn;
}

double timed(const char* what, const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    fmt::print("{:<12}{:8.3f} s\n", what, seconds);
    return seconds;
}

void measure(const Drawn& drawn) {
    const std::size_t ranks = drawn.ranks.size();
    std::vector<analysis::StepOverlaps> steps(ranks);
    std::atomic<std::size_t> found = 0;
    double sum = 0;
    const auto each = [&](const char* what, const std::function<std::size_t(std::size_t)>& ask) {
        sum += timed(what, [&] {
            analysis::forEachRank(ranks, [&](std::size_t place) { found += ask(place); });
        });
    };
    each("ledger", [&](std::size_t place) {
        return analysis::rankLedger(drawn.summary, drawn.ranks[place]).size();
    });
    each("overlap", [&](std::size_t place) -> std::size_t {
        return analysis::rankOverlap(drawn.summary, drawn.ranks[place], steps[place])
                   .communication.ns > 0;
    });
    each("idle", [&](std::size_t place) -> std::size_t {
        return analysis::breakdownOf(drawn.summary, drawn.ranks[place], {}).has_value();
    });
    each("exposed", [&](std::size_t place) {
        return analysis::exposuresOf(drawn.ranks[place], drawn.ranks, {}).size();
    });
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    fmt::print("{:<12}{:8.3f} s, {} rows, {:.0f} MB with the events\n", "together", sum,
               found.load(), static_cast<double>(usage.ru_maxrss) * 1024 / 1e6);
}

int write(const std::string& path, int ranks, std::int64_t events) {
    test::SampleOptions options;
    options.ranks = ranks;
    options.ranksPerHost = 8;
    options.operatorRounds = 1;
    options.sentEvery = Duration{900'000'000};  // as ranks do
    options.steps = static_cast<std::int32_t>(std::max<std::int64_t>(1, events / 650));
    if (const auto done = test::writeSampleRecording(path, options); !done) {
        fmt::print(stderr, "{}\n", done.error().message);
        return 1;
    }
    return 0;
}

}  // namespace
}  // namespace shardscope::bench

int main(int argc, char** argv) {
    using namespace shardscope;
    if (argc == 5 && std::strcmp(argv[1], "--write") == 0)
        return bench::write(argv[2], std::atoi(argv[3]), std::atoll(argv[4]));
    const int ranks = argc > 1 ? std::atoi(argv[1]) : 8;
    const std::int64_t events = argc > 2 ? std::atoll(argv[2]) : 2'000'000;
    bench::measure(bench::draw(ranks, events));
    return 0;
}
