// The file an import makes: under another name until it is whole.
#pragma once

#include "storage/model/result.h"

#include <string>

namespace shardscope::interchange {

class OutputFile {
public:
    /// kUsage with a sentence when `path` cannot be written, or exists and `overwrite` is not set.
    static Result<OutputFile> reserve(const std::string& path, bool overwrite);
    OutputFile(OutputFile&& other) noexcept;
    OutputFile& operator=(OutputFile&& other) noexcept;
    ~OutputFile();  ///< removes what was not committed

    /// Where to write.
    [[nodiscard]] const std::string& part() const { return m_part; }
    /// What went wrong with the part, said of the file that it would have become: no such file was
    /// written.
    [[nodiscard]] tl::unexpected<Error> failed(const Error& error) const;
    /// Gives the whole file its name.
    Result<void> commit();

private:
    OutputFile(std::string path, std::string part, bool overwrite)
        : m_path(std::move(path)), m_part(std::move(part)), m_overwrite(overwrite) {}
    void discard() const;

    std::string m_path;
    std::string m_part;  ///< empty once committed
    bool m_overwrite = false;
};

}  // namespace shardscope::interchange
