#include "engine/launch/agent_file.h"

#include "storage/model/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <utility>

namespace shardscope::launch {
namespace {

constexpr const char* kSuffix = ".agent";
/// What cannot be understood is given a day.
constexpr std::int64_t kLongestLease = 86'400;

struct flock wholeFile(short type) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    return lock;
}

std::int64_t leaseIn(int file) {
    std::array<char, 32> text{};
    const ssize_t count = ::pread(file, text.data(), text.size(), 0);
    std::int64_t lease = 0;
    if (count > 0) std::from_chars(text.data(), text.data() + count, lease);
    return lease > 0 && lease < kLongestLease ? lease : kLongestLease;
}

/// The process that holds the lock; 0: none, or one that is not seen from here.
std::optional<pid_t> holderOf(int file) {
    struct flock lock = wholeFile(F_WRLCK);
    if (::fcntl(file, F_GETLK, &lock) != 0) return std::nullopt;
    return lock.l_type == F_UNLCK ? 0 : lock.l_pid;
}

bool isStale(int file) {
    struct stat status {};
    return ::fstat(file, &status) == 0 &&
           ::time(nullptr) - status.st_mtim.tv_sec > 2 * leaseIn(file);
}

Result<void> makePrivate(const std::string& folder) {
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
        return failure(ErrorCode::kFailure,
                       fmt::format("{} cannot be made: {}", folder, std::strerror(errno)));
    struct stat status {};
    const bool ours = ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                      status.st_uid == ::geteuid() && (status.st_mode & 0077) == 0;
    if (ours) return {};
    return failure(
        ErrorCode::kFailure,
        fmt::format("{} is not this user's alone; remove it, or set XDG_RUNTIME_DIR to a "
                    "folder of your own",
                    folder));
}

/// Batch jobs inherit the variable from a login elsewhere, whose folder is not on this host.
bool isOwnFolder(const char* path) {
    struct stat status {};
    return ::stat(path, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
}

}  // namespace

Result<AgentFile> AgentFile::make(const std::string& folder, std::chrono::seconds lease) {
    // Under its name only once it is locked: one without a lock is taken for one that was left.
    const std::string draft = fmt::format("{}/.{}", folder, ::getpid());
    FileDescriptor file(openNewFile(draft, 0600));
    struct flock lock = wholeFile(F_WRLCK);
    const std::string path = fmt::format("{}/{}{}", folder, ::getpid(), kSuffix);
    if (!file.valid() || ::fcntl(file.get(), F_SETLK, &lock) != 0 ||
        std::rename(draft.c_str(), path.c_str()) != 0)
        return failure(ErrorCode::kFailure,
                       fmt::format("{} cannot be written: {}", path, std::strerror(errno)));
    AgentFile made(path, std::move(file));
    made.setLease(lease);
    return made;
}

AgentFile::AgentFile(AgentFile&& other) noexcept
    : m_path(std::exchange(other.m_path, {})), m_file(std::move(other.m_file)) {}

AgentFile::~AgentFile() {
    if (!m_path.empty()) ::unlink(m_path.c_str());
}

void AgentFile::setLease(std::chrono::seconds lease) {
    const std::string text = fmt::format("{}\n", lease.count());
    static_cast<void>(::ftruncate(m_file.get(), 0));
    static_cast<void>(::pwrite(m_file.get(), text.data(), text.size(), 0));
}

void AgentFile::touch() {
    ::futimens(m_file.get(), nullptr);
}

std::vector<pid_t> endStaleAgents(const std::string& folder) {
    std::vector<pid_t> ended;
    std::error_code error;
    for (const auto& each : std::filesystem::directory_iterator(folder, error)) {
        const std::string path = each.path().string();
        if (!path.ends_with(kSuffix)) continue;
        const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
        if (!file.valid()) continue;
        const auto holder = holderOf(file.get());
        if (!holder) continue;
        if (*holder != 0 && (!isStale(file.get()) || *holder < 0)) continue;
        if (*holder > 0 && ::kill(*holder, SIGKILL) == 0) ended.push_back(*holder);
        ::unlink(path.c_str());
    }
    return ended;
}

std::string userFolder() {
    const char* named = std::getenv("XDG_RUNTIME_DIR");
    if (named != nullptr && *named == '/' && isOwnFolder(named))
        return std::string(named) + "/shardscope";
    return fmt::format("/tmp/shardscope-{}", ::geteuid());
}

Result<std::string> makeUserFolder(const std::string& below) {
    const std::string folder = userFolder();
    if (auto made = makePrivate(folder); !made) return failure(made);
    if (below.empty()) return folder;
    if (auto made = makePrivate(folder + "/" + below); !made) return failure(made);
    return folder + "/" + below;
}

}  // namespace shardscope::launch
