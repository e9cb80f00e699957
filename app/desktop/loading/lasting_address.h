// What the user opened, as it can be opened again from any folder. Any thread.
#pragma once

#include "app/desktop/models/open_recording.h"

#include <QString>

namespace shardscope::desktop {

/// A path, an address on another host, or paths a line.
[[nodiscard]] QString lastingAddress(const OpenRecording& recording);

}  // namespace shardscope::desktop
