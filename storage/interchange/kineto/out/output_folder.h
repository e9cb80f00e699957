// The folder an export of several ranks makes: under another name until all files are whole.
#pragma once

#include "storage/model/result.h"
#include "storage/recording/file/output_file.h"

#include <cstdint>
#include <string>
#include <vector>

namespace shardscope::interchange::kineto_out {

class OutputFolder {
public:
    /// kUsage when the path is a file, or a folder that is not empty and `overwrite` is not set;
    /// traces in it may be replaced as storage::settleOutput() says.
    static Result<OutputFolder> reserve(const storage::OutputRequest& request);
    OutputFolder(OutputFolder&& other) noexcept;
    OutputFolder& operator=(OutputFolder&& other) noexcept;
    ~OutputFolder();  ///< removes what was not committed

    /// Where a file of this name is to be written.
    [[nodiscard]] std::string file(const std::string& name);
    /// Gives the folder its name. Into a folder that exists, files are moved one by one; traces of
    /// ranks that an earlier export left there go.
    Result<std::vector<std::string>> commit();

private:
    OutputFolder(storage::OutputRequest request, std::string path, std::string part)
        : m_request(std::move(request)), m_path(std::move(path)), m_part(std::move(part)) {}
    [[nodiscard]] bool mayReplace(const std::string& name) const;

    storage::OutputRequest m_request;
    std::string m_path;
    std::string m_part;  ///< empty once committed
    std::vector<std::string> m_names;
};

/// "rank3.json.gz"
[[nodiscard]] std::string rankFileName(std::uint32_t rank);

}  // namespace shardscope::interchange::kineto_out
