// How long collectives take on a link, for any number of ranks: the formulas of
// engine/run/theory/link_model.h with a latency and a bandwidth for each operation. Pure functions.
#pragma once

#include "engine/run/config/run_config.h"
#include "engine/run/theory/link_model.h"
#include "profiler/analysis/transfers.h"
#include "storage/model/recording.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::planning {

class LinkTimes {
public:
    /// The same link for every operation. `source`: a phrase, "as given".
    LinkTimes(const theory::LinkModel& link, std::string source);

    /// What was fitted to an operation among so many ranks, turned into latency a hop and
    /// bandwidth.
    void set(CollectiveOp operation, std::int32_t ranks, const analysis::AlphaBeta& fit);

    /// S as the engine reports it. An operation that is not known takes what the others say.
    [[nodiscard]] Duration of(CollectiveOp operation, std::int32_t ranks, Bytes size) const;
    [[nodiscard]] const theory::LinkModel& model(CollectiveOp operation) const;
    [[nodiscard]] const std::string& source() const { return m_source; }
    /// The same with other latency and bandwidth, by factors.
    [[nodiscard]] LinkTimes scaled(double latency, double bandwidth) const;

private:
    theory::LinkModel m_link;  ///< of what is not in m_known
    std::map<CollectiveOp, theory::LinkModel> m_known;
    std::string m_source;
};

/// The link that the options of modelled links describe, which to a plan is a real one, taken out
/// of `config`; absent where they describe none.
[[nodiscard]] std::optional<LinkTimes> takeGivenLink(run::RunConfig& config);

/// The link that a run models; absent where it models none.
[[nodiscard]] std::optional<LinkTimes> modelledLinkOf(const run::RunConfig& config);

/// The link of a recording: the one it modelled, or what fits the collectives over all of its ranks
/// (analysis::classesOf). Absent where neither is known: one rank, or one size only.
[[nodiscard]] std::optional<LinkTimes> linkOf(const RecordingSummary& summary,
                                              const std::vector<RankEvents>& ranks);

}  // namespace shardscope::planning
