// Joins what the ranks report about a step into one line of progress.
#pragma once

#include "app/cli/run_progress.h"
#include "engine/run/protocol/messages.h"

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace shardscope::cli {

class StepTally {
public:
    StepTally(std::int32_t ranks, std::int32_t steps) : m_ranks(ranks), m_steps(steps) {}

    void add(const run::StepDone& done);
    void add(const MetricPoint& metric);
    /// Steps that every rank has done and whose metrics are in, oldest first. A step whose
    /// metrics never come is given out when a later one is complete.
    std::vector<StepProgress> take();
    /// At the end of the run: those whose metrics never came, too.
    std::vector<StepProgress> takeRest();

    /// In this recording; a run that resumes did others before.
    [[nodiscard]] std::int32_t stepsDone() const { return m_stepsDone; }
    [[nodiscard]] std::optional<double> lossFirst() const { return m_lossFirst; }
    [[nodiscard]] std::optional<double> lossLast() const { return m_lossLast; }

private:
    struct Pending {
        std::int32_t ranksDone = 0;
        StepProgress progress;
        Duration wall;
        Duration exposed;
        Timestamp end;
    };
    std::vector<StepProgress> take(bool rest);
    [[nodiscard]] StepProgress complete(const Pending& pending);

    std::int32_t m_ranks;
    std::int32_t m_steps;
    std::map<std::int32_t, Pending> m_pending;
    std::int32_t m_stepsDone = 0;
    std::int32_t m_nextStep = 0;  ///< after the last that was given out
    std::optional<Timestamp> m_firstEnd;
    std::int32_t m_firstStep = 0;
    std::optional<double> m_lossFirst;
    std::optional<double> m_lossLast;
};

}  // namespace shardscope::cli
