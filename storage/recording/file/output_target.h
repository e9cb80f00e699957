// Whether a command may write its output under a name: the one rule of every verb.
//
// With --force only a regular file is ever replaced that is what the verb writes: never a device,
// a FIFO, a socket or a folder, not what the same command reads, under whatever name, and no
// recording that is being written.
#pragma once

#include "storage/model/result.h"

#include <string>
#include <vector>

namespace shardscope::storage {

/// What a verb writes, and so may replace.
struct Replaceable {
    const char* what;                        ///< "a recording"
    bool (*isOne)(const std::string& path);  ///< by the content of a regular file
};

[[nodiscard]] bool isRecording(const std::string& path);
inline constexpr Replaceable kRecording{"a recording", isRecording};

struct OutputRequest {
    std::string path;
    bool overwrite = false;
    Replaceable replaces = kRecording;
    std::vector<std::string> inputs{};  ///< files and folders that the command reads
};

/// The path to write: that of the target where a symbolic link leads to a file that may be
/// replaced. kUsage with a sentence where nothing may be written. Changes nothing.
Result<std::string> settleOutput(const OutputRequest& request);

}  // namespace shardscope::storage
