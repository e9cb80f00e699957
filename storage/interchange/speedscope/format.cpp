#include "storage/interchange/formats.h"

namespace shardscope::interchange {

Result<ExportAccount> exportSpeedscope(storage::RecordingReader& reader,
                                       const ExportOptions& options);

Format speedscopeFormat() {
    return {.name = "speedscope",
            .file = "a speedscope file",
            .writes = "for speedscope.app",
            .ending = ".speedscope.json",
            .write = exportSpeedscope};
}

}  // namespace shardscope::interchange
