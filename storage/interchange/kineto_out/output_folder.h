// The folder an export of several ranks makes: under another name until all files are whole.
#pragma once

#include "storage/model/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::interchange::kineto_out {

class OutputFolder {
public:
    /// kUsage when `path` is a file, or a folder that is not empty and `overwrite` is not set.
    static Result<OutputFolder> reserve(const std::string& path, bool overwrite);
    OutputFolder(OutputFolder&& other) noexcept;
    OutputFolder& operator=(OutputFolder&& other) noexcept;
    ~OutputFolder();  ///< removes what was not committed

    /// Where a file of this name is to be written.
    [[nodiscard]] std::string file(const std::string& name);
    /// Gives the folder its name. Into a folder that exists, files are moved one by one; traces of
    /// ranks that an earlier export left there go.
    Result<std::vector<std::string>> commit();

private:
    OutputFolder(std::string path, std::string part)
        : m_path(std::move(path)), m_part(std::move(part)) {}

    std::string m_path;
    std::string m_part;  ///< empty once committed
    std::vector<std::string> m_names;
};

/// "rank3.json.gz"
[[nodiscard]] std::string rankFileName(std::uint32_t rank);

}  // namespace shardscope::interchange::kineto_out
