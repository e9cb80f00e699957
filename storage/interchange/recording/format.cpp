#include "storage/interchange/formats.h"

namespace shardscope::interchange {

Result<ExportAccount> exportRecording(storage::RecordingReader& reader,
                                      const ExportOptions& options);

namespace {

/// SQLite, with the recording's application id in its header.
bool isRecording(std::string_view front) {
    constexpr std::size_t kApplicationId = 68;
    return front.starts_with(std::string_view("SQLite format 3\0", 16)) && front.size() > 72 &&
           front.substr(kApplicationId, 4) == "SScp";
}

}  // namespace

Format recordingFormat() {
    return {.name = "sscope",
            .file = "a Shardscope recording",
            .reads = "recordings of this program, joined into one",
            .endings = {".sscope"},
            .looksLike = isRecording,
            .writes = "a recording of its own, whole or of the part",
            .ending = ".sscope",
            .write = exportRecording};
}

}  // namespace shardscope::interchange
