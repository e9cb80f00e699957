#include "engine/launch/ssh/ssh_master.h"

#include "engine/launch/ssh/ssh_command.h"
#include "storage/model/file_descriptor.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

namespace shardscope::launch {
namespace {

/// ssh removes its socket and says good-bye to the server within that.
constexpr std::chrono::milliseconds kGrace{1000};
constexpr std::size_t kMostWords = 64 * 1024;

/// A socket's name has room for 104 bytes on some systems; ssh appends a dot and 16 letters, we
/// "/s".
constexpr std::size_t kLongestFolder = 103 - 17 - 2;

constexpr const char* kName = "shardscope-ssh-";
constexpr std::string_view kRandom = "XXXXXX";

std::string baseFolder() {
    const char* runtime = std::getenv("XDG_RUNTIME_DIR");
    std::error_code error;
    const std::string base = runtime != nullptr ? runtime : "";
    const std::size_t length = base.size() + 1 + std::strlen(kName) + kRandom.size();
    const bool fits = length <= kLongestFolder && std::filesystem::is_directory(base, error);
    return fits ? base : "/tmp";
}

/// No process listens there any more. ssh gives a socket its name only once it listens.
bool isDead(const std::string& socketPath) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socketPath.size() >= sizeof address.sun_path) return false;
    socketPath.copy(address.sun_path, socketPath.size());
    const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
               0 &&
           errno == ECONNREFUSED;
}

/// What those left that were killed. Others' folders cannot be looked into.
void sweep(const std::string& base) {
    std::error_code error;
    for (const auto& each : std::filesystem::directory_iterator(base, error)) {
        const bool isOurs = each.path().filename().string().starts_with(kName);
        if (isOurs && isDead((each.path() / "s").string()))
            std::filesystem::remove_all(each.path(), error);
    }
}

}  // namespace

Result<SshMaster> SshMaster::start(const SshOptions& options, const SshHost& host) {
    auto folder = ControlFolder::make();
    if (!folder) return failure(folder);
    auto child = ChildProcess::start(masterWords(options, host, folder->socket()));
    if (!child)
        return failure(child,
                       "other hosts are reached with ssh; install openssh-client, or name "
                       "it (--ssh-command)");
    child->input.reset();
    return SshMaster(std::move(*folder), std::move(*child));
}

SshMaster::~SshMaster() {
    close();
}

void SshMaster::addPolls(std::vector<pollfd>& polls) const {
    for (const FileDescriptor* each : {&m_child.output, &m_child.errors})
        if (each->valid()) polls.push_back({each->get(), POLLIN, 0});
}

void SshMaster::turn() {
    readAvailable(m_child.output, m_output, kMostWords);
    readAvailable(m_child.errors, m_words, kMostWords);
    if (m_words.size() > kMostWords) m_words.erase(0, m_words.size() - kMostWords);
    if (m_output.size() > kMostWords) m_output = "\n";
}

void SshMaster::close() {
    m_child.stop(SIGTERM, kGrace);
}

Result<ControlFolder> ControlFolder::make() {
    const std::string base = baseFolder();
    sweep(base);
    std::string path = base + "/" + kName + std::string(kRandom);
    if (::mkdtemp(path.data()) != nullptr) return ControlFolder(path);
    return failure(ErrorCode::kLaunch,
                   fmt::format("no folder {} for ssh's socket: {}", path, std::strerror(errno)));
}

ControlFolder::ControlFolder(ControlFolder&& other) noexcept
    : m_path(std::exchange(other.m_path, {})) {}

ControlFolder::~ControlFolder() {
    std::error_code ignored;
    if (!m_path.empty()) std::filesystem::remove_all(m_path, ignored);
}

}  // namespace shardscope::launch
