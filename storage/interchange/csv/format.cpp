#include "storage/interchange/formats.h"

namespace shardscope::interchange {

std::vector<FormatView> csvViewList();
Result<ExportAccount> exportCsv(storage::RecordingReader& reader, const ExportOptions& options);

Format csvFormat() {
    return {.name = "csv",
            .file = "comma-separated values",
            .writes = "rows of a view",
            .option = "--view",
            .ending = ".csv",
            .views = csvViewList(),
            .write = exportCsv};
}

}  // namespace shardscope::interchange
