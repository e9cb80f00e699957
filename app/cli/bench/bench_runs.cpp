#include "app/cli/bench/bench_runs.h"

#include "app/cli/bench/measured_run.h"
#include "app/cli/console.h"
#include "app/cli/interruptible.h"
#include "app/cli/record/data_path.h"
#include "engine/launch/host_facts.h"
#include "engine/run/theory/theory.h"
#include "storage/model/quantity_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <utility>

namespace shardscope::cli {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Why a run is not tried with the memory that is free now; empty: it may be.
std::string lackOfMemory(const run::RunConfig& config) {
    const auto needed = hostMemoryNeeded(config), available = launch::freeMemory();
    if (!needed || !available || needed->count <= available->count) return {};
    return fmt::format("does not fit: needs {} of memory by theory, {} are free", sizeText(*needed),
                       sizeText(*available));
}

/// What ends one run and says nothing of others.
bool isOfTheRunAlone(const Error& error) {
    return error.code == ErrorCode::kRank;
}

bool isMeasured(const run::RunConfig& config) {
    const auto state = lookAtOutput(config);
    return state && *state == OutputState::kMeasured;
}

class Runner {
public:
    Runner(const std::vector<PlannedRun>& plan, const RunningOptions& options)
        : m_options(options) {
        for (const PlannedRun& run : plan) m_runs.results.push_back({run, {}, run.impossible});
        m_count = plan.size() * static_cast<std::size_t>(options.repetitions);
    }

    BenchRuns run() {
        for (std::int32_t round = 1; round <= m_options.repetitions; ++round)
            for (RunResult& result : m_runs.results) {
                ++m_at;
                if (InterruptGuard::interrupted())
                    m_runs.ended = Error{ErrorCode::kInterrupted, "interrupted"};
                if (!m_runs.ended) measure(result, round);
                if (m_runs.ended && result.missing.empty())
                    result.missing = fmt::format("{} of {} repetitions are there",
                                                 result.recordings.size(), m_options.repetitions);
            }
        return std::move(m_runs);
    }

private:
    void say(const std::string& text) const {
        if (!m_options.quiet) tell(text);
    }

    void measure(RunResult& result, std::int32_t round) {
        run::RunConfig config = result.run.config;
        config.output = fmt::format("{}/{}_{}.sscope", m_options.folder, result.run.name, round);
        // What was measured before fits, whatever is free now.
        if (result.missing.empty() && result.recordings.empty() && !isMeasured(config))
            result.missing = lackOfMemory(config);
        if (!result.missing.empty()) {
            if (round == 1)
                say(asLine(
                    fmt::format("[{}/{}] {}: {}", m_at, m_count, result.run.name, result.missing)));
            return;
        }
        say(fmt::format("[{}/{}] {}, repetition {} ...", m_at, m_count, result.run.name, round));
        const auto start = Clock::now();
        const auto done = measureRun(config, m_options.force);
        if (done) {
            say(done->layThere ? " was there\n" : fmt::format(" {:.1f} s\n", secondsSince(start)));
            result.recordings.push_back(done->recording);
            measureBeside(config, round);
            return;
        }
        say(asLine(' ' + done.error().message));
        if (!isOfTheRunAlone(done.error())) {
            m_runs.ended = done.error();
            return;
        }
        result.missing = "failed: " + done.error().message;
        if (!m_runs.failed) m_runs.failed = done.error();
    }

    void measureBeside(const run::RunConfig& config, std::int32_t round) {
        if (m_options.beside == nullptr) return;
        const auto done = m_options.beside(config, round, m_options.folder);
        if (done) return;
        if (done.error().code == ErrorCode::kInterrupted)
            m_runs.ended = done.error();
        else if (std::exchange(m_besideWas, done.error().message) != done.error().message)
            say(asLine("Not measured beside: " + done.error().message));
    }

    const RunningOptions& m_options;
    std::string m_besideWas;  ///< why nothing was measured beside, the last time
    BenchRuns m_runs;
    std::size_t m_at = 0, m_count = 0;
};

}  // namespace

std::optional<Bytes> hostMemoryNeeded(const run::RunConfig& config) {
    const bool trains = config.work == run::Work::kTraining;  // what measures takes what there is
    if (!trains || config.device != run::Device::kCpu || !config.hosts.empty()) return std::nullopt;
    const std::int64_t peak = theory::total(theory::memoryTheory(config)).count;
    return Bytes{config.ranks * (peak + kRankProgram.count)};
}

Result<BenchRuns> goThrough(const std::vector<PlannedRun>& plan, const RunningOptions& options) {
    RunningOptions whole = options;
    auto folder = wholePath(options.folder);
    if (!folder) return failure(folder);
    whole.folder = *folder;
    std::error_code error;
    std::filesystem::create_directories(whole.folder, error);
    if (error)
        return failure(ErrorCode::kFailure,
                       fmt::format("the folder {} cannot be made: {}; choose another with --output",
                                   options.folder, error.message()));
    const InterruptGuard guard;
    return Runner(plan, whole).run();
}

}  // namespace shardscope::cli
