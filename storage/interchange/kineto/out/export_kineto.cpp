// A recording as PyTorch profiler traces, one a rank: docs/kineto.md.
#include "storage/interchange/formats.h"
#include "storage/interchange/kineto/out/event_writer.h"
#include "storage/interchange/kineto/out/kineto_trace.h"
#include "storage/interchange/kineto/out/output_folder.h"
#include "storage/interchange/output_kind.h"

namespace shardscope::interchange {
namespace {

using namespace kineto_out;

bool isTraceName(const std::string& path) {
    return path.ends_with(".json") || path.ends_with(".json.gz");
}

Result<std::uint64_t> writeRank(ExportScope& scope, RankId rank, const std::string& path,
                                const ExportOptions& options) {
    auto output = TextOutput::open({path, options.overwrite, kKinetoFile, options.inputs});
    if (!output) return failure(output);
    EventWriter writer(*output, options.integerMicroseconds);
    const KinetoTrace trace(scope, rank);
    writer.begin(trace.metadata());
    if (auto done = trace.walk(writer); !done) return failure(done);
    writer.end();
    if (auto done = output->finish(); !done) return failure(done);
    return writer.events();
}

Result<ExportAccount> writeFolder(ExportScope& scope, const ExportOptions& options) {
    ExportAccount account;
    auto folder = OutputFolder::reserve(outputOf(options, kKinetoFile));
    if (!folder) return failure(folder);
    for (const RankId rank : scope.ranks()) {
        auto events = writeRank(scope, rank, folder->file(rankFileName(rank.value)), options);
        if (!events) return failure(events);
        account.events += *events;
    }
    auto files = folder->commit();
    if (!files) return failure(files);
    account.files = std::move(*files);
    return account;
}

bool isJson(std::string_view front) {
    const std::size_t first = front.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && (front[first] == '{' || front[first] == '[');
}

}  // namespace

Result<ExportAccount> exportKineto(storage::RecordingReader& reader, const ExportOptions& options) {
    auto scope = ExportScope::of(reader, options);
    if (!scope) return failure(scope);
    if (scope->ranks().empty())
        return failure(ErrorCode::kUsage, "the recording has no ranks: nothing can be exported");
    const bool several = scope->ranks().size() > 1;
    if (several && isTraceName(options.output))
        return failure(ErrorCode::kUsage, "a Kineto trace holds one rank, and " + options.output +
                                              " would have to hold " +
                                              std::to_string(scope->ranks().size()) +
                                              ": name a folder, or choose one with --ranks");
    if (several || !isTraceName(options.output)) return writeFolder(*scope, options);
    auto events = writeRank(*scope, scope->ranks().front(), options.output, options);
    if (!events) return failure(events);
    return ExportAccount{*events, {options.output}, {}};
}

Result<ReaderResult> readKineto(const ReaderRequest& request);

Format kinetoFormat() {
    return {.name = "kineto",
            .file = "a PyTorch profiler (Kineto) trace",
            .reads = "traces of PyTorch's profiler (Kineto, Chrome JSON), plain or gzip",
            .endings = {".json", ".json.gz"},
            .looksLike = isJson,
            .read = readKineto,
            .writes = "PyTorch profiler traces, one .json.gz per rank",
            .option = "--hta",
            .ending = ".json.gz",
            .filePerRank = true,
            .write = exportKineto};
}

}  // namespace shardscope::interchange
