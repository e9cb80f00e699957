// What the Memory page asks a recording about one moment. Runs on a loader thread; ends with
// kCancelled soon after a newer question was asked.
#pragma once

#include "app/desktop/models/address_data.h"
#include "app/desktop/models/open_recording.h"
#include "profiler/analysis/memory/address_space.h"
#include "storage/model/recording.h"
#include "storage/recording/read/generation.h"
#include "storage/recording/read/recording_reader.h"

#include <QString>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace shardscope::desktop {

// What the Memory page shows of one moment of one rank: its blocks, where they lie, what of the
// segments is free. Plain values, immutable once handed over.

struct MomentQuery {
    RankId rank;
    Timestamp time;
    friend bool operator==(const MomentQuery&, const MomentQuery&) = default;
};

/// Blocks alive together, grouped by owner and layer.
struct BlockOwner {
    QString owner;
    LayerIndex layer = kNoLayer;
    MemoryCategory category = MemoryCategory::kOther;
    std::int64_t blocks = 0;
    Bytes size;
};

struct MomentFrame {
    MomentQuery query;
    QString doing;                    ///< what the rank did then
    std::vector<MemoryEvent> blocks;  ///< alive, largest first; their places are their ids
    std::vector<bool> startsKnown;
    std::vector<int> names;           ///< of each block's owner, in `owners`
    std::vector<QString> owners;      ///< names
    std::vector<BlockOwner> byOwner;  ///< largest first
    Bytes alive;
    bool hasPlaces = false;  ///< some block has an address
    AddressData addresses;
    std::optional<analysis::ReservedNow> reserved;
    QString unknown;  ///< why it is not known what was reserved
    [[nodiscard]] const QString& ownerOf(std::size_t block) const {
        return owners[static_cast<std::size_t>(names[block])];
    }
};
using MomentFramePtr = std::shared_ptr<const MomentFrame>;

/// Of each block of a frame: nothing: it is alive at the end.
using BlockEnds = std::vector<std::optional<Timestamp>>;

Result<MomentFramePtr> loadMoment(storage::RecordingReader& reader, const OpenRecording& recording,
                                  MomentQuery query, const storage::Generation& generation);

/// When the blocks of the frame were freed.
Result<BlockEnds> loadBlockEnds(storage::RecordingReader& reader, const OpenRecording& recording,
                                const MomentFrame& frame, const storage::Generation& generation);

/// Frames of the stack that allocated a block, innermost first, as details: numbers and texts.
using StackRows = std::vector<std::pair<QString, QString>>;
Result<StackRows> loadStack(storage::RecordingReader& reader, RankId rank,
                            const MemoryEvent& block);

}  // namespace shardscope::desktop
