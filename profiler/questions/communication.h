// What there is to say of the collectives of a selection, of all its ranks and read once: what a
// page about communication shows. The same figures as the answers of `overlap` and `collectives`.
#pragma once

#include "profiler/analysis/communication/collective_figures.h"
#include "profiler/analysis/communication/exposure.h"
#include "profiler/analysis/communication/transfers.h"
#include "profiler/questions/question.h"

#include <cstdint>
#include <map>
#include <vector>

namespace shardscope::questions {

struct Communication {
    /// By layer and operation; of collectives of steps.
    std::map<analysis::ExposureKind, analysis::ExposureSum> byLayer;
    std::vector<analysis::ReasonSum> reasons;      ///< of the same
    std::vector<analysis::Transfer> transfers;     ///< by first start
    std::vector<analysis::TransferClass> classes;  ///< most time first
    analysis::ArrivalSkew skew;
    /// Who is in a group, as far as its ranks are selected; by group.
    std::map<std::uint32_t, std::vector<RankId>> groups;
};

/// Events of all selected ranks are in memory meanwhile.
[[nodiscard]] Result<Communication> readCommunication(const Asked& asked);

}  // namespace shardscope::questions
