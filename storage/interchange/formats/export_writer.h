// A growing text or binary file that gets its name only once it is whole.
#pragma once

#include "storage/model/result.h"
#include "storage/recording/file/output_file.h"

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace shardscope::interchange {

/// The first failed write is kept and said by finish(). One thread.
class ExportWriter {
public:
    /// Errors as storage::settleOutput().
    static Result<ExportWriter> open(const storage::OutputRequest& request);

    void write(std::string_view bytes);
    Result<void> finish();

private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    ExportWriter(std::string path, storage::OutputFile output, std::FILE* file)
        : m_path(std::move(path)), m_output(std::move(output)), m_file(file) {}

    std::string m_path;
    storage::OutputFile m_output;
    std::unique_ptr<std::FILE, Close> m_file;
    int m_error = 0;  ///< errno of the first failed write
};

}  // namespace shardscope::interchange
