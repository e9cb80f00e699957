#include "storage/interchange/formats/export_writer.h"

#include <cerrno>
#include <cstring>

namespace shardscope::interchange {
namespace {

tl::unexpected<Error> cannotWrite(const std::string& path, int error) {
    return failure(ErrorCode::kFailure, "cannot write " + path + ": " + std::strerror(error) +
                                            ", make room or choose another folder");
}

}  // namespace

Result<ExportWriter> ExportWriter::open(const storage::OutputRequest& request) {
    const std::string& path = request.path;
    auto output = storage::OutputFile::reserve(request);
    if (!output) return failure(output);
    std::FILE* file = std::fopen(output->part().c_str(), "wbx");
    if (file == nullptr) return cannotWrite(path, errno);
    std::setvbuf(file, nullptr, _IOFBF, std::size_t{1} << 18);
    return ExportWriter(path, std::move(*output), file);
}

void ExportWriter::write(std::string_view bytes) {
    if (m_error != 0 || bytes.empty()) return;
    if (std::fwrite(bytes.data(), 1, bytes.size(), m_file.get()) != bytes.size()) m_error = errno;
}

Result<void> ExportWriter::finish() {
    if (m_error == 0 && std::fflush(m_file.get()) != 0) m_error = errno;
    if (std::fclose(m_file.release()) != 0 && m_error == 0) m_error = errno;
    if (m_error != 0) return cannotWrite(m_path, m_error);
    return m_output.commit();
}

}  // namespace shardscope::interchange
