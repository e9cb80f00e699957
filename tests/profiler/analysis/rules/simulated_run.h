// Training runs whose truth is known: ranks that compute, gather ahead and reduce behind backward,
// as noisy as shared machines are, healthy or with one fault.
//
// All ranks are simulated operation by operation: a collective begins on a rank when it was asked
// for and the one before is done, moves data when its last rank has arrived, and ends on all ranks
// at once. Reproducible by seed.
#pragma once

#include "profiler/analysis/memory/memory_steps.h"
#include "storage/model/recording.h"

#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <vector>

namespace shardscope::test {

enum class Fault {
    kNone,
    kStoppedRank,     ///< one rank is stopped in some of the steps
    kSlowRank,        ///< one rank computes for longer, always
    kSlowLink,        ///< in a stretch of steps data moves for longer
    kLateCollective,  ///< one layer is gathered on demand
    kLeak,            ///< a little of each step is never freed
    kLossSpike,
    kNotANumber,
    kThrottled,  ///< in a stretch of steps all ranks get less of their processors
    kSlowStep,
    // Of the machine, not of the run:
    kBusyStretch,  ///< others take cores of all ranks in a stretch of steps
    kBusyStep,     ///< others take the core of one rank for long in one step
};

class SimulatedRun {
public:
    SimulatedRun(std::uint64_t seed, Fault fault);

    RecordingSummary summary;
    std::vector<RankEvents> ranks;
    std::vector<analysis::RankGrowth> growths;
    RankId faulty;                      ///< of faults of one rank
    StepIndex faultyFirst, faultyLast;  ///< of faults of some steps

private:
    struct Rank {
        Timestamp now;
        Timestamp linkFree;
        Duration processor;
        Duration waited;   ///< ready to run, for a core
        double speed = 1;  ///< time its work takes in this step
    };

    void step(std::int32_t index);
    void prepareStep(std::int32_t index);
    void work(Phase phase, int layer, double milliseconds);
    void loseToOthers(Rank& rank, Duration lost);
    void collective(CollectiveOp operation, Cause cause, int layer, double milliseconds);
    void waitFor(std::uint64_t sequence, Phase phase);
    void addPhase(std::size_t rank, Phase phase, int layer, Timestamp begin, Timestamp end);
    void finishStep(std::int32_t index, const std::vector<Timestamp>& begun);
    void addMetrics();
    void addMemory();
    [[nodiscard]] bool isFaulty(StepIndex index) const;
    /// Around 1.
    double noise(double deviation);
    bool chance(double probability);
    double between(double low, double high);

    std::mt19937_64 m_random;
    Fault m_fault;
    std::vector<Rank> m_state;
    std::vector<Timestamp> m_ends{Timestamp{}};  ///< of collectives, by sequence
    StepIndex m_step;
    double m_load = 1;     ///< of the machine, slowly changing
    double m_drift = 0;    ///< by which it changes over the run
    double m_factor = 1;   ///< of the fault
    double m_machine = 1;  ///< how fast the machine is
    bool m_isGuest;        ///< others run on the same hardware, not in the same system
    Duration m_stolen;     ///< so far, on all cores
    Duration m_stolenTold;
    std::optional<std::pair<std::size_t, std::int64_t>> m_stop;  ///< rank, ns; still to come
};

}  // namespace shardscope::test
