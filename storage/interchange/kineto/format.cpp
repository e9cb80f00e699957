#include "storage/interchange/formats.h"

namespace shardscope::interchange {

Result<ReaderResult> readKineto(const ReaderRequest& request);
Result<ExportAccount> exportKineto(storage::RecordingReader& reader, const ExportOptions& options);

namespace {

bool isJson(std::string_view front) {
    const std::size_t first = front.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && (front[first] == '{' || front[first] == '[');
}

}  // namespace

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
