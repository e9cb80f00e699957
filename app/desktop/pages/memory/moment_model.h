// What the Memory page says of one moment: blocks as a table and one by one, free memory, hovers.
// Pure.
#pragma once

#include "app/desktop/models/address_data.h"
#include "app/desktop/models/open_recording.h"
#include "app/desktop/models/table_model.h"
#include "app/desktop/pages/memory/moment_query.h"

#include <QString>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace shardscope::desktop {

/// Rows of the table of blocks; of more the largest.
inline constexpr std::size_t kMostBlockRows = 300;

using DetailRows = std::vector<std::pair<QString, QString>>;

/// "Rank 0 at 0.758 s, the peak, step 3: 54 blocks alive, 1.65 MiB together."
[[nodiscard]] QString momentSentence(const MomentFrame& frame, bool isPeak);
/// What stands above the owners: that sentence; of the peak also what of it no block explains.
/// Without addresses: that owners are unknown.
[[nodiscard]] QString ownersNote(const MomentFrame& frame, std::optional<Bytes> peak);
[[nodiscard]] std::vector<TableColumn> ownerColumns();
/// None where blocks have no addresses: they cannot be distinguished.
[[nodiscard]] TableRows ownerRows(const MomentFrame& frame, std::size_t most);

[[nodiscard]] std::vector<TableColumn> blockColumns();
/// `ends`: null: still being looked for.
[[nodiscard]] TableRows blockRows(const MomentFrame& frame, const OpenRecording& recording,
                                  const BlockEnds* ends);
/// What the table leaves out, and what has no place in the address space; empty: nothing.
[[nodiscard]] QString blocksLeftOut(const MomentFrame& frame);
[[nodiscard]] DetailRows blockDetails(const MomentFrame& frame, const OpenRecording& recording,
                                      std::size_t block, const BlockEnds* ends);
/// "0x7f…, 2.00 MiB, forward model.py:147, 1.2 ms old"; of free memory its size.
[[nodiscard]] QString hoverText(const MomentFrame& frame, const AddressHit& hit);

/// Reserved, allocated, free: figures, and the sentence with their definitions. Without segments
/// no figures, and why.
[[nodiscard]] DetailRows reservedRows(const MomentFrame& frame);
[[nodiscard]] QString reservedNote(const MomentFrame& frame);
/// How the address space is to be read.
[[nodiscard]] QString addressNote(const MomentFrame& frame);

}  // namespace shardscope::desktop
