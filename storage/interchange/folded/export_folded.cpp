// Folded stacks for flame graphs: `lane;phase;layer;operator;operator NANOSECONDS`, self times.
//
// Written for the strictest reader, speedscope: integers, one space, no empty frame.
#include "storage/interchange/formats.h"
#include "storage/interchange/formats/export_writer.h"
#include "storage/interchange/formats/folded_stacks.h"
#include "storage/interchange/output_kind.h"

namespace shardscope::interchange {
namespace {

std::size_t write(const StackTree& tree, ExportWriter& writer) {
    std::size_t lines = 0;
    for (StackTree::Node node = 0; node < tree.size(); ++node) {
        const Duration self = tree.stack(node).self;
        if (self.ns <= 0) continue;
        writer.write(tree.text(node) + " " + std::to_string(self.ns) + "\n");
        ++lines;
    }
    return lines;
}

/// "rank 1;compute", of one rank "compute"; of several lanes their thread.
StackTree::Node rootOf(const ExportScope& scope, const std::vector<LaneFacts>& lanes,
                       StackTree& tree) {
    const LaneFacts& lane = lanes.front();
    StackTree::Node root = StackTree::kRoot;
    if (scope.ranks().size() > 1)
        root = tree.child(root, "rank " + std::to_string(lane.rank.value));
    return tree.child(root, lanes.size() > 1 ? withoutUse(lane.name) : lane.name);
}

/// "main;train;step 42" lines.
bool isFolded(std::string_view front) {
    std::string_view line = front.substr(0, front.find('\n'));
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    const std::size_t space = line.find_last_of(" \t");
    if (space == std::string_view::npos || space == 0 || space + 1 == line.size()) return false;
    return line.find_first_not_of("0123456789", space + 1) == std::string_view::npos;
}

}  // namespace

Result<ExportAccount> exportFolded(storage::RecordingReader& reader, const ExportOptions& options) {
    auto scope = ExportScope::of(reader, options);
    if (!scope) return failure(scope);
    auto writer = ExportWriter::open(outputOf(options, kFoldedFile));
    if (!writer) return failure(writer);
    FoldedStacks folded(*scope);
    for (const RankId rank : scope->ranks())
        for (const auto& lanes : ExportScope::byThread(scope->lanes(rank))) {
            if (lanes.front().role == LaneRole::kCounter) continue;
            if (auto done = folded.lanes(lanes, rootOf(*scope, lanes, folded.tree())); !done)
                return failure(done, "exporting folded stacks");
        }
    if (write(folded.tree(), *writer) == 0)
        return failure(ErrorCode::kUsage,
                       "no span lies within what is to be exported: choose "
                       "other ranks or a wider range");
    if (auto done = writer->finish(); !done) return failure(done);
    ExportAccount account{folded.events(),
                          {options.output},
                          {"folded stacks hold time by stack: no order, counters or memory"}};
    if (folded.tree().cut())
        account.notes.push_back("stacks of more than " + std::to_string(StackTree::kMostFrames) +
                                " frames were cut there: what is within counts for their last one");
    return account;
}

Result<ReaderResult> readFolded(const ReaderRequest& request);

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
