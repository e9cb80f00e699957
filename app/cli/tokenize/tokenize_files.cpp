#include "app/cli/tokenize/tokenize_files.h"

#include "engine/tokens/text_files.h"
#include "storage/model/new_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace shardscope::cli {

namespace fs = std::filesystem;

Result<Texts> findTexts(const std::vector<std::string>& inputs) {
    Texts texts;
    for (const std::string& input : inputs) {
        const auto files = tokens::findTextFiles(input);
        if (!files) return failure(files);
        texts.files.insert(texts.files.end(), files->begin(), files->end());
    }
    for (const std::string& file : texts.files) {
        std::error_code ignored;
        texts.bytes += static_cast<std::int64_t>(fs::file_size(file, ignored));
    }
    return texts;
}

Result<std::string> checkOutput(const fs::path& path, const TokenizeOptions& options,
                                std::vector<std::string> read, const storage::Replaceable& kind) {
    read.push_back(options.tokenizer);
    return storage::settleOutput({path.string(), options.overwrite, kind, std::move(read)});
}

WholeFile::WholeFile(std::string path)
    : m_path(std::move(path)), m_part(fmt::format("{}.part", m_path)) {
    // Through no link that is there already.
    const int made = openNewFile(m_part);
    if (made >= 0) {
        ::close(made);
        m_out.open(m_part, std::ios::binary | std::ios::in);
    } else {
        m_out.setstate(std::ios::failbit);
    }
}

WholeFile::~WholeFile() {
    std::error_code ignored;
    if (!m_finished) fs::remove(m_part, ignored);
}

Result<void> WholeFile::finish() {
    m_out.close();
    std::error_code error;
    const std::string cause = m_out ? "" : std::strerror(errno);
    if (m_out) fs::rename(m_part, m_path, error);
    m_finished = m_out && !error;
    if (m_finished) return {};
    return failure(ErrorCode::kFailure,
                   fmt::format("cannot write {}: {}; make room, or choose another --output", m_path,
                               error ? error.message() : cause));
}

Result<void> writeText(const std::string& path, std::string_view text) {
    WholeFile file(path);
    file.out().write(text.data(), static_cast<std::streamsize>(text.size()));
    return file.finish();
}

}  // namespace shardscope::cli
