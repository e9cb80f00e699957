#include "storage/interchange/output_file.h"

#include "storage/recording/part_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

namespace shardscope::interchange {
namespace {

constexpr const char* kSidecars[] = {"", "-wal", "-shm", "-journal"};

tl::unexpected<Error> cannotWrite(const std::string& path, const std::string& why) {
    return failure(ErrorCode::kUsage,
                   "cannot write " + path + ": " + why + ", choose another --output");
}

tl::unexpected<Error> alreadyExists(const std::string& path) {
    return failure(ErrorCode::kUsage,
                   path + " already exists: choose another name, or replace it with --force");
}

}  // namespace

Result<OutputFile> OutputFile::reserve(const std::string& path, bool overwrite) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    if (path.empty()) return failure(ErrorCode::kUsage, "no output file: name one with --output");
    if (fs::is_directory(path, ignored))
        return failure(ErrorCode::kUsage, path + " is a folder: name a file inside it");
    if (!overwrite && fs::exists(path, ignored)) return alreadyExists(path);
    const std::string folder = fs::absolute(path, ignored).parent_path().string();
    if (!fs::is_directory(folder, ignored))
        return cannotWrite(path, "the folder " + folder + " does not exist");
    if (access(folder.c_str(), W_OK) != 0)
        return cannotWrite(
            path, "the folder " + folder + " is not writable (" + std::strerror(errno) + ")");
    storage::removeDeadParts(path);
    OutputFile file(path, storage::partName(path, "part"), overwrite);
    file.discard();
    return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : m_path(std::move(other.m_path)),
      m_part(std::exchange(other.m_part, {})),
      m_overwrite(other.m_overwrite) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
    std::swap(m_path, other.m_path);
    std::swap(m_part, other.m_part);
    std::swap(m_overwrite, other.m_overwrite);
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
    return failure(error.code, storage::withoutPart(error.message, m_part, m_path));
}

Result<void> OutputFile::commit() {
    if (m_overwrite) {
        // A journal of the file being replaced must never be applied to the new one.
        for (const char* suffix : kSidecars)
            if (*suffix != '\0') unlink((m_path + suffix).c_str());
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

}  // namespace shardscope::interchange
