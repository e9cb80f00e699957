#include "storage/recording/file/output_file.h"

#include "storage/model/new_file.h"
#include "storage/recording/file/part_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace shardscope::storage {
namespace {

constexpr const char* kSidecars[] = {"", "-wal", "-shm", "-journal"};

tl::unexpected<Error> cannotWrite(const std::string& path, const std::string& why) {
    return failure(ErrorCode::kUsage,
                   "cannot write " + path + ": " + why + ", choose another name");
}

tl::unexpected<Error> alreadyExists(const std::string& path) {
    return failure(ErrorCode::kUsage,
                   path + " already exists: choose another name, or replace it with --force");
}

}  // namespace

Result<OutputFile> OutputFile::reserve(const OutputRequest& request, int tries) {
    auto target = settleOutput(request);
    if (!target) return failure(target);
    removeDeadParts(*target);
    std::string part = partName(*target, "part");
    if (tries > 0) part += "-again" + std::to_string(tries);
    OutputFile file(request, std::move(*target), std::move(part));
    file.discard();
    return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : m_request(std::move(other.m_request)),
      m_path(std::move(other.m_path)),
      m_part(std::exchange(other.m_part, {})) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
    std::swap(m_request, other.m_request);
    std::swap(m_path, other.m_path);
    std::swap(m_part, other.m_part);
    return *this;
}

OutputFile::~OutputFile() {
    discard();
}

void OutputFile::discard() const {
    if (m_part.empty()) return;
    for (const char* suffix : kSidecars) unlink((m_part + suffix).c_str());
}

tl::unexpected<Error> OutputFile::failed(const Error& error) const {
    return failure(error.code, withoutPart(error.message, m_part, m_path));
}

Result<void> OutputFile::commit() {
    if (m_request.overwrite)
        if (auto still = settleOutput(m_request); !still) return failure(still);
    // A journal of a file that is replaced, or was removed, must never be applied to the new one.
    if (m_request.overwrite || access(m_path.c_str(), F_OK) != 0)
        for (const char* suffix : kSidecars)
            if (*suffix != '\0') unlink((m_path + suffix).c_str());
    if (m_request.overwrite) {
        if (std::rename(m_part.c_str(), m_path.c_str()) != 0)
            return cannotWrite(m_path, std::strerror(errno));
    } else if (renameat2(AT_FDCWD, m_part.c_str(), AT_FDCWD, m_path.c_str(), RENAME_NOREPLACE) !=
               0) {
        // Some file systems know no RENAME_NOREPLACE; a hard link does not replace either.
        if (errno == EEXIST) return alreadyExists(m_path);
        if (errno != EINVAL || link(m_part.c_str(), m_path.c_str()) != 0)
            return cannotWrite(m_path, std::strerror(errno));
        unlink(m_part.c_str());
    }
    m_part.clear();
    return {};
}

Result<void> writeOutput(const OutputRequest& request, std::string_view bytes) {
    auto output = OutputFile::reserve(request);
    if (!output) return failure(output);
    if (const int error = writeNewFile(output->part(), bytes); error != 0)
        return failure(ErrorCode::kFailure, "cannot write " + request.path + ": " +
                                                std::strerror(error) +
                                                ", make room or choose another folder");
    return output->commit();
}

}  // namespace shardscope::storage
