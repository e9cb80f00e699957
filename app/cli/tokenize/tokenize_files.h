// Files that `shardscope tokenize` reads and writes.
#pragma once

#include "app/cli/tokenize/tokenize_work.h"
#include "storage/model/result.h"
#include "storage/recording/file/output_file.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::cli {

struct Texts {
    std::vector<std::string> files;
    std::int64_t bytes = 0;
};

/// The text files that `inputs`, files and folders, name. Errors as tokens::findTextFiles().
Result<Texts> findTexts(const std::vector<std::string>& inputs);

/// The path to write, which is none of the files `read`, see storage::settleOutput(). Errors:
/// kUsage.
Result<std::string> checkOutput(const std::filesystem::path& path, const TokenizeOptions& options,
                                std::vector<std::string> read, const storage::Replaceable& kind);

/// A file that has its name only when it is whole; removed when it is not finished.
class WholeFile {
public:
    explicit WholeFile(std::string path);
    WholeFile(const WholeFile&) = delete;
    WholeFile& operator=(const WholeFile&) = delete;
    ~WholeFile();

    [[nodiscard]] std::ostream& out() { return m_out; }
    /// Errors (kFailure): a full disk, a path that cannot be written, ...
    Result<void> finish();

private:
    std::string m_path, m_part;
    std::ofstream m_out;
    bool m_finished = false;
};

Result<void> writeText(const std::string& path, std::string_view text);

}  // namespace shardscope::cli
