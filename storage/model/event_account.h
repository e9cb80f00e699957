// What became of the events that ranks counted: added up here only, so that every command and page
// shows the same numbers.
#pragma once

#include "storage/model/recording.h"

#include <cstdint>

namespace shardscope {

/// emitted = stored - uncounted + removed + dropped + lost, of each rank and so of all.
struct EventAccount {
    std::uint64_t emitted = 0;  ///< as ranks counted them; 0: none did
    std::uint64_t stored = 0;
    std::uint64_t uncounted = 0;  ///< stored, of ranks that were ended after their last word
    std::uint64_t removed = 0;    ///< on purpose, to save space
    std::uint64_t dropped = 0;    ///< by ranks whose queues were full
    /// On their way, with the rank, agent or recorder that held them. Of a recording whose writer
    /// is at work: those on their way now.
    std::uint64_t lost = 0;
};

[[nodiscard]] EventAccount eventAccount(const RecordingSummary& summary);

}  // namespace shardscope
