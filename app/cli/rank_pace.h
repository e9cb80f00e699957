// What is said of each rank while a run goes on: what it is at, and how fast its last steps were.
#pragma once

#include "engine/run/protocol/messages.h"
#include "engine/run/protocol/progress.h"

#include <cstdint>
#include <deque>
#include <map>

namespace shardscope::cli {

class RankPace {
public:
    /// Of these last steps the speed is told.
    static constexpr std::size_t kSteps = 10;

    void add(const StepFacts& step);
    [[nodiscard]] run::RankFigures figures(RankId rank, const run::RankActivity& activity) const;

private:
    struct Step {
        std::int64_t tokens = 0;
        Duration duration;
    };
    std::map<std::uint32_t, std::deque<Step>> m_last;  ///< by rank
};

}  // namespace shardscope::cli
