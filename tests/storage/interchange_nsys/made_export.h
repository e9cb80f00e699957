// Exports of Nsight Systems made by SQL, and what tests do with recordings of them.
#pragma once

#include "storage/interchange/export.h"
#include "storage/interchange/import.h"
#include "storage/recording/read/recording_reader.h"
#include "tests/support/result_matchers.h"
#include "tests/support/temporary_folder.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shardscope::test {

/// globalTid of a thread, globalPid of thread 0.
[[nodiscard]] constexpr std::int64_t globalId(std::int64_t pid, std::int64_t tid = 0) {
    return std::int64_t{1} << 48 | pid << 24 | tid;
}

/// Tables of schema 3 with one process (pid 100, GPU 0): two kernels (one of NCCL), a copy, a set,
/// calls, a wait, NVTX of two domains, overhead, a graph, GPU facts. The first event is at 1000 ns.
[[nodiscard]] std::string schema3();
/// Likewise of schema 2: every table is there, some empty, no ENUM tables, other metadata.
[[nodiscard]] std::string schema2();

/// A folder with a made export, its import, and what came of it.
class MadeExport {
public:
    explicit MadeExport(const std::string& sql);
    Result<interchange::ImportAccount> import();
    Result<interchange::ImportAccount> import(const std::vector<std::string>& inputs);
    /// Exports what was imported, and imports that into another MadeExport's place.
    Result<interchange::ExportAccount> exportTo(const std::string& path) const;

    /// Rows of a query on the recording, cells joined by '|'.
    [[nodiscard]] std::vector<std::string> rows(const std::string& sql) const;
    [[nodiscard]] std::string one(const std::string& sql) const;

    TemporaryFolder folder;
    std::string path;
    interchange::ImportOptions options;
    std::unique_ptr<storage::RecordingReader> reader;
    RecordingSummary summary;
};

/// Rows of a query on any database, cells joined by '|'.
[[nodiscard]] std::vector<std::string> rowsOf(const std::string& database, const std::string& sql);
/// Every span: rank, lane name, role, start in UTC, duration, name, correlation, arguments.
[[nodiscard]] std::vector<std::string> spansOf(const MadeExport& recording);

}  // namespace shardscope::test
