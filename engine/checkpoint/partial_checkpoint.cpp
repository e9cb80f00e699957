// Whose a partial folder is, and what is removed of what was left behind.
#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/checkpoint_files.h"
#include "storage/model/file_descriptor.h"
#include "storage/model/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

namespace shardscope::checkpoint {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* kMarkSchema = "shardscope.writer/1";
constexpr std::size_t kLongestMark = 1024;

struct Mark {
    std::string host;
    pid_t pid = 0;
    bool locked = false;
};

std::string hostName() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) return "host";
    return name.data();
}

/// Of this open file, not of the process: other descriptors of this process neither have the lock
/// nor end it.
bool lockWhole(int file) {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return ::fcntl(file, F_OFD_SETLK, &lock) == 0;
}

std::optional<Mark> markIn(int file) {
    std::array<char, kLongestMark> text{};
    const ssize_t count = ::pread(file, text.data(), text.size(), 0);
    try {
        const Json json = Json::parse(text.data(), text.data() + std::max<ssize_t>(count, 0));
        if (json.at("schema") != kMarkSchema) return std::nullopt;
        return Mark{json.at("host"), json.at("process"), json.at("locked")};
    } catch (const Json::exception&) {
        return std::nullopt;
    }
}

/// Locks the mark of a dead one, so that of several runs only one removes it.
bool isAlive(const Mark& mark, int file) {
    if (mark.locked) {
        if (lockWhole(file)) return false;
        if (errno == EAGAIN || errno == EACCES) return true;
    }
    // Processes of other hosts are not seen from here.
    return mark.host != hostName() || ::kill(mark.pid, 0) == 0 || errno != ESRCH;
}

/// Whether the file that was opened is still the one of that name.
bool isStill(int file, const std::string& path) {
    struct stat opened {};
    struct stat named {};
    return ::fstat(file, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/// Holds the lock where the file system has locks; not valid: errno says why.
FileDescriptor markAsOurs(const std::string& folder) {
    // Under its name only once it is locked: one without a lock is taken for one that was left.
    const std::string draft = fmt::format("{}/.writer-{}", folder, ::getpid());
    FileDescriptor file(openNewFile(draft));
    if (!file.valid()) return file;
    const bool locked = lockWhole(file.get());
    const Json json{
        {"schema", kMarkSchema}, {"host", hostName()}, {"process", ::getpid()}, {"locked", locked}};
    const std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
    const ssize_t written = ::pwrite(file.get(), text.data(), text.size(), 0);
    if (written >= 0 && written < static_cast<ssize_t>(text.size())) errno = ENOSPC;
    const bool named = written == static_cast<ssize_t>(text.size()) &&
                       std::rename(draft.c_str(), (folder + "/" + kMarkName).c_str()) == 0;
    if (named) return file;
    const int error = errno;
    ::unlink(draft.c_str());
    file.reset();
    errno = error;
    return file;
}

enum class Writer : std::uint8_t { kUnknown, kAlive, kDead };

struct PartialFolder {
    std::string path;
    Writer writer = Writer::kUnknown;
    Mark mark;  ///< of kAlive
};

bool isFolder(const std::string& path) {
    std::error_code error;
    return fs::is_directory(fs::symlink_status(path, error));
}

/// Removes it where its writer is dead, or it is a checkpoint that was being removed.
PartialFolder removeIfDead(const std::string& path) {
    if (!isFolder(path)) return {path, Writer::kUnknown, {}};
    const std::string name = path + "/" + kMarkName;
    const FileDescriptor file(::open(name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    const auto mark = markIn(file.get());
    if (mark && isAlive(*mark, file.get())) return {path, Writer::kAlive, *mark};
    const bool dead = mark ? isStill(file.get(), name) : isCheckpoint(path);
    if (!dead) return {path, Writer::kUnknown, {}};
    removeOurs(path);
    return {path, Writer::kDead, {}};
}

std::vector<PartialFolder> removeDead(const std::string& folder) {
    std::vector<PartialFolder> left;
    for (const std::string& path : partialCheckpoints(folder)) {
        PartialFolder partial = removeIfDead(path);
        if (partial.writer != Writer::kDead) left.push_back(std::move(partial));
    }
    return left;
}

/// Earlier versions did not mark theirs.
bool holdsRankFilesOnly(const std::string& path) {
    std::error_code error;
    if (!isFolder(path)) return false;
    for (const auto& entry : fs::directory_iterator(path, error)) {
        const std::string name = entry.path().filename().string();
        int rank = -1;
        const bool ofRank =
            std::sscanf(name.c_str(), "rank-%d", &rank) == 1 && name == rankFileName(rank);
        if (!ofRank || !fs::is_regular_file(entry.symlink_status(error))) return false;
    }
    return !error;
}

/// Why a checkpoint cannot be written under this name; empty: it can.
std::string whyTaken(const std::string& folder, std::int32_t nextStep) {
    const std::string path = partialPath(folder, nextStep);
    for (const PartialFolder& left : removeDead(folder)) {
        if (left.path != path) continue;
        if (left.writer == Writer::kAlive)
            return fmt::format("process {} on {} is writing it; give each run a folder of its own",
                               left.mark.pid, left.mark.host);
        if (holdsRankFilesOnly(path)) removeOurs(path);
    }
    const std::string whole = checkpointPath(folder, nextStep);
    std::error_code error;
    for (const std::string& name : {path, whole})
        if (fs::exists(fs::symlink_status(name, error)) && (name == path || !isCheckpoint(name)))
            return fmt::format(
                "{} is there and no run of Shardscope has marked it; move it away, "
                "or name another folder",
                name);
    return {};
}

}  // namespace

std::string removeDeadAndNameOthers(const std::string& folder) {
    std::vector<std::string> foreign;
    for (const PartialFolder& left : removeDead(folder))
        if (left.writer == Writer::kUnknown) foreign.push_back(fs::path(left.path).filename());
    if (foreign.empty()) return {};
    constexpr std::size_t kNamed = 5;
    std::string names = fmt::format(
        "{}",
        fmt::join(foreign.begin(),
                  foreign.begin() + static_cast<std::ptrdiff_t>(std::min(kNamed, foreign.size())),
                  ", "));
    if (foreign.size() > kNamed) names += fmt::format(" and {} more", foreign.size() - kNamed);
    return fmt::format(
        "{} holds {}, which no run of this version has marked as its own and which "
        "stays; remove it if nothing needs it",
        folder, names);
}

Partial::~Partial() {
    if (m_mark.valid() && !m_whole) removeOurs(m_path);
}

Result<Partial> prepare(const std::string& folder, std::int32_t nextStep) {
    const std::string path = partialPath(folder, nextStep);
    std::error_code error;
    fs::create_directories(folder, error);
    if (!error) {
        if (const std::string why = whyTaken(folder, nextStep); !why.empty())
            return failure(ErrorCode::kFailure,
                           fmt::format("the checkpoint of step {} cannot be written to {}: {} "
                                       "with --checkpoint",
                                       nextStep, folder, why));
        fs::create_directory(path, error);
    }
    if (!error) {
        if (FileDescriptor mark = markAsOurs(path); mark.valid())
            return Partial(folder, path, std::move(mark));
        error.assign(errno, std::generic_category());
        std::error_code ignored;
        fs::remove(path, ignored);
    }
    return failure(ErrorCode::kFailure,
                   fmt::format("the checkpoint folder {} cannot be made: {}; name another one "
                               "with --checkpoint",
                               path, error.message()));
}

}  // namespace shardscope::checkpoint
