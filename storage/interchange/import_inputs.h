// Which files an import reads: folders looked into, pipes copied, ranks by their names.
#pragma once

#include "storage/interchange/clock_groups.h"
#include "storage/interchange/import.h"
#include "storage/interchange/stream_copy.h"
#include "storage/model/ids.h"
#include "storage/model/result.h"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::interchange {

struct Input {
    std::string path;   ///< to open
    std::string title;  ///< as it was named
};

/// Files, and those of folders that may be traces, by name; what else folders hold goes to `left`.
[[nodiscard]] Result<std::vector<Input>> collectInputs(const std::vector<std::string>& paths,
                                                       std::vector<std::string>& left);
[[nodiscard]] Result<void> refuseOverwritingInputs(const std::vector<Input>& inputs,
                                                   const std::string& output);
/// Lets inputs that are pipes stand for copies of them, which the result keeps.
[[nodiscard]] Result<std::vector<StreamCopy>> copyStreams(std::vector<Input>& inputs,
                                                          const ImportOptions& options);
/// Ranks by the numbers that follow "rank" in the names of all files ("rank10.json" is not the
/// second); empty where some have none, or two the same.
[[nodiscard]] std::vector<RankId> ranksByName(const std::vector<Input>& inputs);
/// What tells whether two inputs are of one process.
struct InputProcess {
    std::string process;           ///< host and pid; empty: not known
    std::optional<RankId> stated;  ///< by itself, or by its name
    std::optional<InputSpan> span;
};
/// For each input the first one that its process wrote, where it wrote several (a profiler that is
/// started again and again): the same process and stated rank, at other times. Nothing: it is that
/// one.
[[nodiscard]] std::vector<std::optional<std::size_t>> continuedInputs(
    const std::vector<InputProcess>& inputs);
/// "left out of the folder, as not traces or written twice: settings.json".
[[nodiscard]] std::string leftOutText(const std::vector<std::string>& files);

}  // namespace shardscope::interchange
