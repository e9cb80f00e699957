#include "storage/interchange/formats.h"

namespace shardscope::interchange {

Result<ExportAccount> exportCsv(storage::RecordingReader& reader, const ExportOptions& options);

Format csvFormat() {
    return {.name = "csv",
            .file = "comma-separated values",
            .writes = "rows of a view, see --view",
            .write = exportCsv};
}

}  // namespace shardscope::interchange
