// The file that a trace's text goes to: plain, or gzip.
#pragma once

#include "storage/interchange/formats/export_writer.h"

#include <memory>
#include <string>
#include <string_view>

namespace shardscope::interchange::kineto_out {

/// Has its name only once it is whole. One thread.
class TextOutput {
public:
    /// gzip unless `path` ends in ".json".
    static Result<TextOutput> open(const storage::OutputRequest& request);
    TextOutput(TextOutput&&) noexcept;
    TextOutput& operator=(TextOutput&&) noexcept;
    ~TextOutput();

    void write(std::string_view text);
    Result<void> finish();

private:
    struct Deflater;
    TextOutput(ExportWriter writer, std::unique_ptr<Deflater> deflater);
    ExportWriter m_writer;
    std::unique_ptr<Deflater> m_deflater;  ///< null: plain
};

}  // namespace shardscope::interchange::kineto_out
