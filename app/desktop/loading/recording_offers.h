// A recording, or a part of it, in every format that `shardscope export` writes. GUI thread.
#pragma once

#include "app/desktop/loading/file_saver.h"
#include "app/desktop/models/open_recording.h"
#include "app/desktop/models/selection.h"
#include "storage/recording/remote/remote_session.h"

#include <QString>
#include <vector>

namespace shardscope::desktop {

/// What `selection` leaves of `recording`, in each format, and in each table of one that has
/// several. Null: each says that none is open. Whoever saves it reads the recording anew, and does
/// not disturb what is shown. `access`: of recordings on other hosts.
[[nodiscard]] std::vector<SaveOffer> recordingOffers(const RecordingPtr& recording,
                                                     const Selection& selection,
                                                     const storage::remote::ChildOptions& access);

/// What files that are saved of it begin with: "run" of "run.sscope"; null: the program's name.
[[nodiscard]] QString savedName(const RecordingPtr& recording);

/// A folder that they may lie in: where the recording does, else the home.
[[nodiscard]] QString savedFolder(const RecordingPtr& recording);

}  // namespace shardscope::desktop
