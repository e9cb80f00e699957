// What a verb says of a recording, taken from what was kept beside it where it said so before.
#pragma once

#include "app/cli/command.h"
#include "app/cli/open_recording.h"
#include "storage/model/result.h"

#include <functional>
#include <string>

namespace shardscope::cli {

struct Computed {
    std::string text;
    bool lasting = false;  ///< of a recording that is finished: it would be said again
};

/// --fresh.
void addFresh(CLI::App& app, bool& fresh);

/// `question` names all that the text depends on beside the recording and the program. What takes
/// less than half a second is not worth a file; nothing is kept of recordings on other hosts.
Result<std::string> keptText(const RecordingPlace& place, const std::string& question, bool fresh,
                             const std::function<Result<Computed>()>& compute);

}  // namespace shardscope::cli
