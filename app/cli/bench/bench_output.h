// A bench's result as text, Markdown, CSV, JSON and pictures.
#pragma once

#include "app/cli/bench/bench_kind.h"
#include "storage/model/result.h"

#include <optional>
#include <string>
#include <vector>

namespace shardscope::cli {

/// What it was measured on, from a recording: a figure for each of host, processor, cores, memory,
/// devices, system libraries and program.
[[nodiscard]] Result<std::vector<questions::Figure>> machineOf(const std::string& recording);

enum class BenchFormat { kText, kMarkdown, kCsv, kJson };

struct BenchDocument {
    const BenchKind* kind = nullptr;
    BenchResult result;  ///< with the machine among its figures
    std::vector<RunResult> runs;
};
/// Where a run stands, what is missing of it, and its recordings.
[[nodiscard]] questions::Table tableOf(const std::vector<RunResult>& runs);

/// JSON: schema shardscope.bench/1. `explain`: of text, what each column means.
[[nodiscard]] std::string textOf(const BenchDocument& document, BenchFormat format, bool explain);

/// Whether the tables may be written there, before hours of measuring. Errors as
/// storage::settleOutput(): files of an earlier bench may be replaced, others not.
[[nodiscard]] Result<void> checkFiles(const std::string& folder);
/// bench.md, bench.csv, bench.json and a picture each. Errors as storage::writeOutput().
[[nodiscard]] Result<void> writeFiles(const BenchDocument& document, const std::string& folder);

}  // namespace shardscope::cli
