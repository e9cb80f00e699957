// What the Communication page shows of the collectives of what is selected. Immutable once made;
// made on a loader thread, since a long run has more collectives than one goes through in a frame.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/models/ledger_view.h"
#include "app/desktop/models/selected_part.h"
#include "app/desktop/models/table_model.h"
#include "profiler/questions/communication.h"
#include "storage/recording/read/recording_reader.h"

#include <memory>
#include <optional>
#include <vector>

namespace shardscope::desktop {

struct CommunicationFrame {
    PartPtr part;  ///< that it is of
    questions::Communication communication;
    std::vector<std::size_t> longestFirst;  ///< places of communication.transfers
    /// Waiting of each rank and step; absent where that is not known.
    std::optional<HeatData> waiting;
    LedgerHeat waitingAxes;
};
using CommunicationFramePtr = std::shared_ptr<const CommunicationFrame>;

/// Whether waiting and transfer time can be separated: not in a trace of one rank only.
[[nodiscard]] bool knowsWaiting(const SelectedPart& part);

[[nodiscard]] Result<CommunicationFramePtr> loadCommunicationFrame(storage::RecordingReader& reader,
                                                                   const PartPtr& part);

}  // namespace shardscope::desktop
