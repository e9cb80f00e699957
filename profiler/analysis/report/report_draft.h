// Makes a report of ranks whose events are shown one rank at a time, so that those of a long run
// need not be in memory together. Each is shown once; some once more, where what is asked of one
// rank takes all of them to be known. Not thread-safe but for share().
#pragma once

#include "profiler/analysis/communication/host_clocks.h"
#include "profiler/analysis/communication/last_arrivals.h"
#include "profiler/analysis/device/program_flops.h"
#include "profiler/analysis/report/report.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace shardscope::analysis {

class ReportDraft {
public:
    /// `ranks`: those that will be shown, in their order. Refers to `summary`.
    ReportDraft(const RecordingSummary& summary, const std::vector<RankId>& ranks);
    ReportDraft(const ReportDraft&) = delete;
    ReportDraft& operator=(const ReportDraft&) = delete;

    /// Most of the work for a rank; any thread, but none that a call below runs beside.
    /// `deviceRows`: those of the rank are taken. `copies`: of the rank's device.
    [[nodiscard]] RankShare share(std::size_t place, const ShownRank& rank,
                                  const std::vector<LedgerRow>& deviceRows,
                                  std::vector<TimeRange> copies = {}) const;
    /// Ranks in their order.
    void add(RankShare share, const RankEvents& events);
    /// All that were added, as outlineOf() leaves them.
    [[nodiscard]] const std::vector<RankEvents>& outlines() const { return m_outlines; }
    /// Of all that were added.
    [[nodiscard]] std::uint64_t collectives() const { return m_collectives; }

    /// What was read of operators; after all were added and before anything below.
    void takeFlops(CountedSteps counted) { m_counted = std::move(counted); }

    /// After all were added: whether a rank is to be shown again, for addAgain(). Any order.
    [[nodiscard]] bool wantsAgain(std::size_t place);
    void addAgain(std::size_t place, const ShownRank& rank);

    /// At the end, once.
    [[nodiscard]] Report conclude(const std::vector<RankGrowth>& growths,
                                  const Surroundings& around);

private:
    [[nodiscard]] const RecordingSummary& detailed() const {
        return m_detailed ? *m_detailed : m_summary;
    }
    void leaveOutPoorSteps();
    void settle();
    void addSeen(const RankEvents& events);
    void takeThroughput();
    [[nodiscard]] RuleInput rules(const std::vector<RankGrowth>& growths,
                                  const Surroundings& around) const;

    const RecordingSummary& m_summary;
    std::optional<RecordingSummary> m_detailed;  ///< where it is another
    std::size_t m_ranks;                         ///< that will be shown
    const HostClocks m_nothingInDoubt;
    const LastArrivals m_ofWorld;  ///< the only group of most runs, in which all ranks are
    HostPassages m_passages;
    Report m_report;  ///< without clocks until all ranks were added
    std::vector<RankEvents> m_outlines;
    std::uint64_t m_collectives = 0;
    bool m_seesPeers = false;
    StepOverlaps m_overlapBySteps;
    std::map<RankId, RecordedSteps> m_recorded;
    GatheredCollectives m_gathered;
    WaitTally m_waits;
    CountedSteps m_counted;
    std::vector<bool> m_isLateKnown;  ///< of each rank, whom it waited for
    bool m_settled = false;
    std::optional<LastArrivals> m_last;  ///< once all groups and clocks are known
    std::optional<TransferTally> m_transfers;
};

}  // namespace shardscope::analysis
