#include "storage/interchange/formats.h"

namespace shardscope::interchange {

Result<ReaderResult> readNsysSqlite(const ReaderRequest& request);
Result<ExportAccount> exportNsysSqlite(storage::RecordingReader& reader,
                                       const ExportOptions& options);

Format nsysFormat() {
    return {.name = "nsys-sqlite",
            .file = "an Nsight Systems SQLite export",
            .reads = "exports of Nsight Systems (nsys export --type sqlite)",
            .endings = {".sqlite"},
            .looksLike =
                [](std::string_view front) {
                    return front.starts_with(std::string_view("SQLite format 3\0", 16));
                },
            .read = readNsysSqlite,
            .writes = "for queries on Nsight Systems exports",
            .ending = ".sqlite",
            .write = exportNsysSqlite};
}

}  // namespace shardscope::interchange
