#include "storage/interchange/formats.h"

namespace shardscope::interchange {

Result<ReaderResult> readFolded(const ReaderRequest& request);
Result<ExportAccount> exportFolded(storage::RecordingReader& reader, const ExportOptions& options);

namespace {

/// "main;train;step 42" lines.
bool isFolded(std::string_view front) {
    const std::string_view line = front.substr(0, front.find('\n'));
    const std::size_t space = line.rfind(' ');
    if (space == std::string_view::npos || space == 0 || space + 1 == line.size()) return false;
    return line.find_first_not_of("0123456789", space + 1) == std::string_view::npos;
}

}  // namespace

Format foldedFormat() {
    return {.name = "folded",
            .file = "folded stacks",
            .reads = "folded stacks, as flamegraph.pl takes them",
            .endings = {".folded"},
            .looksLike = isFolded,
            .read = readFolded,
            .writes = "stacks for flamegraph.pl, nanoseconds",
            .ending = ".folded",
            .write = exportFolded};
}

}  // namespace shardscope::interchange
