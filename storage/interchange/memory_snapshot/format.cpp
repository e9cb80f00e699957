#include "storage/interchange/formats.h"

namespace shardscope::interchange {

Result<ReaderResult> readMemorySnapshot(const ReaderRequest& request);
Result<ExportAccount> exportMemorySnapshot(storage::RecordingReader& reader,
                                           const ExportOptions& options);

Format memorySnapshotFormat() {
    return {.name = "memory-snapshot",
            .file = "a PyTorch memory snapshot",
            .reads = "memory snapshots of PyTorch (pickle)",
            .endings = {".pickle"},
            .looksLike =
                [](std::string_view front) {
                    // Protocols 2 to 5.
                    return front.size() > 1 && front[0] == '\x80' && front[1] >= 2 && front[1] <= 5;
                },
            .read = readMemorySnapshot,
            .writes = "for pytorch.org/memory_viz",
            .ending = ".pickle",
            .isIn = [](const RecordingSummary& summary) { return summary.events.memory > 0; },
            .write = exportMemorySnapshot};
}

}  // namespace shardscope::interchange
