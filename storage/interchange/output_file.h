// The file an import makes: under another name until it is whole.
#pragma once

#include "storage/model/result.h"
#include "storage/recording/file/output_target.h"

#include <string>

namespace shardscope::interchange {

class OutputFile {
public:
    /// Errors as storage::settleOutput(). `tries`: how many others of this process are made of the
    /// same output, and have to stay for now.
    static Result<OutputFile> reserve(const storage::OutputRequest& request, int tries = 0);
    OutputFile(OutputFile&& other) noexcept;
    OutputFile& operator=(OutputFile&& other) noexcept;
    ~OutputFile();  ///< removes what was not committed

    /// Where to write.
    [[nodiscard]] const std::string& part() const { return m_part; }
    /// What went wrong with the part, said of the file that it would have become: no such file was
    /// written.
    [[nodiscard]] tl::unexpected<Error> failed(const Error& error) const;
    /// Gives the whole file its name, unless what has that name by now may not be replaced.
    Result<void> commit();

private:
    OutputFile(storage::OutputRequest request, std::string path, std::string part)
        : m_request(std::move(request)), m_path(std::move(path)), m_part(std::move(part)) {}
    void discard() const;

    storage::OutputRequest m_request;
    std::string m_path;
    std::string m_part;  ///< empty once committed
};

}  // namespace shardscope::interchange
