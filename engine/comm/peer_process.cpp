#include "engine/comm/peer_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <sstream>

namespace shardscope::comm {
namespace {

struct Stat {
    char state = '?';
    std::uint64_t startTicks = 0;
    bool exists = false;
    bool readable = false;
};

/// proc(5): the name in parentheses may hold anything, so fields count from the last ')'.
Stat readStat(std::int64_t pid) {
    constexpr int kFieldsBetween = 18;  // from state (3) to start time (22), both excluded
    Stat stat;
    const int fd = ::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        stat.exists = errno != ENOENT;
        return stat;
    }
    std::array<char, 1024> buffer{};
    const ssize_t got = ::read(fd, buffer.data(), buffer.size() - 1);
    stat.exists = got > 0 || errno != ESRCH;  // it may end between open and read
    ::close(fd);
    const std::string text(buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    const std::size_t name = text.rfind(')');
    if (name == std::string::npos) return stat;
    std::istringstream fields(text.substr(name + 1));
    fields >> stat.state;
    std::string skipped;
    for (int i = 0; i < kFieldsBetween; ++i) fields >> skipped;
    stat.readable = static_cast<bool>(fields >> stat.startTicks);
    return stat;
}

}  // namespace

ProcessIdentity thisProcess() {
    const std::int64_t pid = ::getpid();
    return {pid, readStat(pid).startTicks};
}

ProcessState stateOf(const ProcessIdentity& process) {
    if (process.pid == 0) return ProcessState::kUnknown;
    if (process.pid == ::getpid()) return ProcessState::kRuns;
    const Stat stat = readStat(process.pid);
    if (!stat.exists) return ProcessState::kGone;
    if (!stat.readable) return ProcessState::kUnknown;
    if (stat.startTicks != process.startTicks) return ProcessState::kGone;
    if (stat.state == 'Z' || stat.state == 'X') return ProcessState::kGone;
    return stat.state == 'T' ? ProcessState::kStopped : ProcessState::kRuns;
}

}  // namespace shardscope::comm
