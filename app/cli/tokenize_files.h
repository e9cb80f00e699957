// Files that `shardscope tokenize` reads and writes.
#pragma once

#include "storage/model/result.h"

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

/// `path` may be written: it is not there, or to be replaced, and its folder is. Errors: kUsage.
Result<void> checkOutput(const std::filesystem::path& path, bool overwrite);

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
