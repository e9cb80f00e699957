// Which rank of a program holds up the others: it has not entered a collective in which they wait.
//
// From what the ranks say about each group every two seconds (capture::CollectiveProgress). Pure;
// one thread.
#pragma once

#include "profiler/capture/program_link.h"
#include "storage/model/ids.h"
#include "storage/model/recording.h"
#include "storage/model/units.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::launch {

/// Found once for each collective.
struct Stall {
    std::string group;
    std::uint64_t sequence = 0;
    std::string operation;
    Duration waited;  ///< by the rank that waits longest
    std::vector<RankId> waiting;
    std::vector<RankId> missing;  ///< have not entered it; empty: all have, and it does not end
    /// The first missing rank, or one that waits.
    [[nodiscard]] RankId about() const {
        return missing.empty() ? waiting.front() : missing.front();
    }
};
/// `states`: what is known of the missing ranks, "; rank 1 has ended".
[[nodiscard]] Diagnostic stallDiagnostic(const Stall& stall, const std::string& states,
                                         Timestamp now);

class StallWatch {
public:
    void note(RankId rank, const capture::CollectiveProgress& progress);
    /// The ranks of a group, "0,2"; of one that was not named all ranks are taken.
    void nameGroup(const std::string& group, const std::string& ranks);
    void forget(RankId rank);

    /// Collectives in which a rank has waited for `limit` or longer.
    std::vector<Stall> look(Duration limit);

private:
    [[nodiscard]] std::set<RankId> membersOf(const std::string& group) const;

    std::map<std::string, std::map<RankId, capture::CollectiveProgress>> m_groups;
    std::map<std::string, std::set<RankId>> m_members;
    std::set<RankId> m_ranks;
    std::set<std::pair<std::string, std::uint64_t>> m_said;
};

}  // namespace shardscope::launch
