// Simulates the ranks of a zero3 run. Part of the sample recording.
#pragma once

#include "engine/run/config/run_config.h"
#include "storage/model/step_facts.h"
#include "tests/support/sample_device.h"
#include "tests/support/sample_rank.h"

#include <map>
#include <string>
#include <vector>

namespace shardscope::test {

class SampleRun {
public:
    SampleRun(const SampleOptions& options, const run::RunConfig& config);

    void prepare();  ///< states allocated, peak calibrated
    void step(std::int32_t step);

    [[nodiscard]] std::vector<SampleRank>& ranks() { return m_ranks; }
    [[nodiscard]] const std::vector<StepFacts>& steps() const { return m_steps; }
    [[nodiscard]] bool evaluates(std::int32_t step) const;

private:
    struct Collective {
        CollectiveOp operation;
        Cause cause;
        Phase wait;
        LayerIndex layer;
        Bytes size;
    };

    void phase(Phase phase, LayerIndex layer, std::int64_t microseconds);
    void operators(SampleRank& rank, Phase phase, LayerIndex layer, TimeRange range);
    void issue(const std::string& key, const Collective& collective);
    void wait(const std::string& key, Phase phase);
    void gather(LayerIndex layer, Cause cause);
    void releaseGathered(LayerIndex layer);
    void reduce(LayerIndex layer);
    void forward();
    void backward();
    void finishStep();
    void evaluate();
    void allocateAll(const std::string& block, Bytes size, MemoryCategory category,
                     LayerIndex layer);
    [[nodiscard]] Bytes unitBytes(LayerIndex layer) const;
    /// Most the allocator of a device holds.
    [[nodiscard]] Bytes reserved() const;
    [[nodiscard]] double collectiveMicroseconds(Bytes size);
    /// A factor of 1 with a few percent of noise.
    double jitter();

    SampleOptions m_options;
    run::RunConfig m_config;
    std::vector<SampleRank> m_ranks;
    std::vector<SampleDevice> m_devices;                   ///< by rank; empty without a GPU
    std::vector<StepFacts> m_steps;                        ///< of the last step, by rank
    std::map<std::string, std::vector<Timestamp>> m_ends;  ///< of issued collectives, by rank
    std::uint64_t m_sequence = 0;
    std::uint64_t m_correlation = 0;
    std::uint32_t m_noise = 12345;
    StepIndex m_step = kNoStep;
};

}  // namespace shardscope::test
