#include "storage/recording/file/output_file.h"

#include "storage/model/new_file.h"
#include "storage/recording/file/part_files.h"
#include "storage/recording/file/recording_file.h"
#include "storage/recording/file/writer_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
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

namespace fs = std::filesystem;

tl::unexpected<Error> refused(std::string sentence) {
    return failure(ErrorCode::kUsage, std::move(sentence));
}

const char* kindOf(mode_t mode) {
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
    if (S_ISFIFO(mode)) return "a FIFO";
    if (S_ISSOCK(mode)) return "a socket";
    return "no regular file";
}

bool isSame(const struct stat& facts, const std::string& other) {
    struct stat of {};
    return stat(other.c_str(), &of) == 0 && of.st_dev == facts.st_dev && of.st_ino == facts.st_ino;
}

/// Whether `input` is the file, or a folder that holds it under some name.
bool reads(const std::string& input, const struct stat& facts) {
    if (input.empty()) return false;
    std::error_code error;
    if (!fs::is_directory(input, error)) return isSame(facts, input);
    auto entry = fs::recursive_directory_iterator(
        input, fs::directory_options::skip_permission_denied, error);
    for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error))
        if (isSame(facts, entry->path().string())) return true;
    return false;
}

std::string writerText(const std::string& path) {
    const std::string unknown = "another process";
    auto connection = Connection::open(path, Connection::Mode::kReadOnly);
    if (!connection) return unknown;
    auto select = connection->prepare("SELECT value FROM meta WHERE key=?");
    if (!select) return unknown;
    const auto row = select->bind(1, kWriterKey).step();
    return row && *row ? std::string(select->text(0)) : unknown;
}

/// Of something that is there.
Result<void> checkThere(const OutputRequest& request, const struct stat& facts) {
    const std::string& path = request.path;
    std::error_code error;
    if (S_ISLNK(facts.st_mode))
        return refused(path + " is a symbolic link to " + fs::read_symlink(path, error).string() +
                       ", and nothing is written through a link: name the file itself, or remove "
                       "the link");
    if (S_ISDIR(facts.st_mode)) return refused(path + " is a folder: name a file inside it");
    if (!S_ISREG(facts.st_mode))
        return refused(path + " is " + kindOf(facts.st_mode) +
                       ", which is never replaced: name a file");
    const bool ours = facts.st_size == 0 || request.replaces.isOne(path);
    if (!ours)
        return refused(path + " already exists and is not " + request.replaces.what +
                       (request.overwrite ? ", and nothing else is replaced"
                                          : ", which is all that --force replaces") +
                       ": choose another name, or remove it yourself");
    if (isBeingWritten(path))
        return refused(path + " is being written by " + writerText(path) +
                       ": let it end, or choose another name");
    if (!request.overwrite)
        return refused(path + " already exists: choose another name, or replace it with --force");
    return {};
}

Result<void> checkFolder(const std::string& path) {
    std::error_code error;
    const fs::path folder = fs::absolute(path, error).parent_path();
    if (error)
        return refused("cannot write " + path + ": the current folder is gone (" + error.message() +
                       "), change to another or name a whole path");
    if (!fs::is_directory(folder, error))
        return refused("cannot write " + path + ": the folder " + folder.string() +
                       " does not exist, make it first");
    if (access(folder.c_str(), W_OK) != 0)
        return refused("cannot write " + path + ": the folder " + folder.string() +
                       " is not writable (" + std::strerror(errno) + "), choose another");
    return {};
}

}  // namespace

Result<OutputFile> OutputFile::reserve(const OutputRequest& request, int tries) {
    if (auto fine = settleOutput(request); !fine) return failure(fine);
    removeDeadParts(request.path);
    std::string part = partName(request.path, "part");
    if (tries > 0) part += "-again" + std::to_string(tries);
    OutputFile file(request, std::move(part));
    file.discard();
    return file;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : m_request(std::move(other.m_request)), m_part(std::exchange(other.m_part, {})) {}

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
    std::swap(m_request, other.m_request);
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
    return failure(error.code, withoutPart(error.message, m_part, m_request.path));
}

Result<void> OutputFile::commit() {
    const std::string& path = m_request.path;
    // Shorter than a recorder's: the window writes small files on its own thread.
    const PlacingLock placing(path, std::chrono::milliseconds(200));
    if (m_request.overwrite)
        if (auto still = settleOutput(m_request); !still) return failure(still);
    // A journal of a file that is replaced, or was removed, must never be applied to the new one.
    if (m_request.overwrite || access(path.c_str(), F_OK) != 0)
        for (const char* suffix : kSidecars)
            if (*suffix != '\0') unlink((path + suffix).c_str());
    if (m_request.overwrite) {
        if (std::rename(m_part.c_str(), path.c_str()) != 0)
            return cannotWrite(path, std::strerror(errno));
    } else if (renameat2(AT_FDCWD, m_part.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) != 0) {
        // Some file systems know no RENAME_NOREPLACE; a hard link does not replace either.
        if (errno == EEXIST) return alreadyExists(path);
        if (errno != EINVAL || link(m_part.c_str(), path.c_str()) != 0)
            return cannotWrite(path, std::strerror(errno));
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

bool isRecording(const std::string& path) {
    return claimedFileSize(path).has_value();
}

Result<void> settleOutput(const OutputRequest& request) {
    const std::string& path = request.path;
    if (path.empty()) return refused("no output file: name one with --output");
    struct stat facts {};
    if (stat(path.c_str(), &facts) == 0 &&
        std::any_of(request.inputs.begin(), request.inputs.end(),
                    [&](const std::string& input) { return reads(input, facts); }))
        return refused(path + " is what this command reads and never changes: choose another name");
    if (lstat(path.c_str(), &facts) == 0)
        if (auto fine = checkThere(request, facts); !fine) return fine;
    return checkFolder(path);
}

}  // namespace shardscope::storage
