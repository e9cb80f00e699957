// What the recorder adds up while a run goes on: steps as lines of progress, the pace of each rank,
// and what other hosts still hold.
#pragma once

#include "app/cli/record/run_progress.h"
#include "engine/run/protocol/messages.h"
#include "engine/run/protocol/progress.h"
#include "storage/model/recording.h"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace shardscope::cli {

/// Joins what the ranks report about a step into one line of progress.
class StepTally {
public:
    /// 0 ranks or steps: as they come.
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
        Duration longest;
        Duration exposed;
        Timestamp end;
    };
    std::vector<StepProgress> take(bool rest);
    [[nodiscard]] bool isDone(const Pending& pending) const;
    void dropOvertaken();
    [[nodiscard]] StepProgress complete(const Pending& pending);

    std::int32_t m_ranks;
    std::int32_t m_steps;
    std::map<std::int32_t, Pending> m_pending;
    std::set<std::uint32_t> m_seen;  ///< ranks that have done a step
    std::int32_t m_stepsDone = 0;
    std::int32_t m_nextStep = 0;  ///< after the last that was given out
    std::optional<Timestamp> m_firstEnd;
    std::int32_t m_firstStep = 0;
    std::optional<double> m_lossFirst;
    std::optional<double> m_lossLast;
};

/// What each rank is at, and how fast its last steps were.
class RankPace {
public:
    /// Of these last steps the speed is shown.
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

/// What other hosts still hold of their ranks' events: shown while it happens, and what of it was
/// lost. Lives on the recorder's only thread.
class HostBacklogs {
public:
    explicit HostBacklogs(RunProgress& progress) : m_progress(progress) {}

    void name(std::int32_t host, const std::string& name) { m_hosts[host].name = name; }
    /// `fetching`: all ranks have ended.
    void note(std::int32_t host, const run::Backlog& held, bool fetching);
    /// A diagnostic for each host of which events were given up.
    [[nodiscard]] std::vector<Diagnostic> lost(Timestamp now) const;

private:
    struct Host {
        std::string name;
        bool saidSlow = false;
        std::optional<std::int64_t> toFetch;  ///< bytes held when fetching began
        run::Backlog last{};
    };

    RunProgress& m_progress;
    std::map<std::int32_t, Host> m_hosts;
};

}  // namespace shardscope::cli
