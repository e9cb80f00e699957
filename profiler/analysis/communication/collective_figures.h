// Figures of single collectives, and their sums.
#pragma once

#include "profiler/analysis/communication/transfers.h"
#include "storage/model/recording.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace shardscope::analysis {

/// The rank at a place of a collective's arrivals; `members` as groupMembers() gives them. Where
/// they are not known, the place itself.
[[nodiscard]] RankId memberAt(const std::vector<RankId>& members, std::size_t place);

/// Whom the others waited for; nothing unless at least two arrivals are known.
[[nodiscard]] std::optional<RankId> lastToArrive(const CollectiveEvent& collective,
                                                 const std::vector<RankId>& members);

/// Bytes per second over the link while this rank's data moved: the bus bandwidth, with the factors
/// of busFactor() (transfers.h). Nothing for what moves no data, or where size or time is not
/// known.
[[nodiscard]] std::optional<double> busBandwidth(const CollectiveEvent& collective);

/// Time of `range` in which the rank's step thread computed nothing.
[[nodiscard]] Duration notBehindCompute(const RankEvents& events, TimeRange range);

struct CommunicationSum {
    std::int64_t collectives = 0;  ///< each counts on every rank
    Duration waiting;              ///< before the last rank arrived
    Duration waitingInValidation;  ///< of it, within the rank's validation passes
    Duration moving;
    Duration longestWait;
    RankId waitingRank;  ///< of the longest wait
};
/// Of collectives that touch a range, what of them lies inside. Those outside of steps count only
/// where steps have none: at start-up and end ranks wait for seconds for each other, which says
/// nothing of training.
class CommunicationTally {
public:
    explicit CommunicationTally(TimeRange range) : m_range(range) {}
    /// One rank's; its events are not needed any more.
    void add(const RankEvents& events);
    [[nodiscard]] const CommunicationSum& sum() const {
        return m_inSteps.collectives > 0 ? m_inSteps : m_outside;
    }

private:
    TimeRange m_range;
    CommunicationSum m_inSteps, m_outside;
};
/// Of all ranks at once.
[[nodiscard]] CommunicationSum communicationIn(const std::vector<const RankEvents*>& ranks,
                                               TimeRange range);

// Which rank comes last to collectives of the steps, how often, and by how much.

/// Of the collectives to which one rank came last.
struct LastComer {
    RankId rank;
    std::int64_t collectives = 0;
    Duration median, longest;  ///< from the first arrival to its own
    Duration waited;           ///< by the others together
};

struct ArrivalSkew {
    std::vector<LastComer> ranks;  ///< by what the others waited, longest first
    std::int64_t known = 0;        ///< collectives of which it is known who came last
    std::int64_t unknown = 0;      ///< arrivals are not known, or hosts' clocks in doubt by more
};
[[nodiscard]] ArrivalSkew arrivalSkew(const std::vector<Transfer>& transfers);

}  // namespace shardscope::analysis
