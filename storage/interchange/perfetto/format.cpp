#include "storage/interchange/formats.h"

namespace shardscope::interchange {

Result<ReaderResult> readPerfetto(const ReaderRequest& request);
Result<ExportAccount> exportPerfetto(storage::RecordingReader& reader,
                                     const ExportOptions& options);

Format perfettoFormat() {
    return {.name = "perfetto",
            .file = "a Perfetto trace",
            .reads = "Perfetto traces (.pftrace) that this program wrote",
            .endings = {".pftrace"},
            // The tag of a packet, which is a line end as well: after what is text.
            .looksLike = [](std::string_view front) { return front.starts_with('\x0a'); },
            .read = readPerfetto,
            .writes = "a trace for ui.perfetto.dev (.pftrace)",
            .ending = ".pftrace",
            .write = exportPerfetto};
}

}  // namespace shardscope::interchange
