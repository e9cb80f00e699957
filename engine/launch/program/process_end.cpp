#include "engine/launch/program/process_end.h"

#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace shardscope::launch {
namespace {

/// struct pidfd_info of Linux 6.15 (include/uapi/linux/pidfd.h), which older headers lack.
struct PidfdInfo {
    std::uint64_t mask;
    std::uint64_t cgroup;
    std::uint32_t pid, tgid, ppid;
    std::uint32_t ruid, rgid, euid, egid, suid, sgid, fsuid, fsgid;
    std::int32_t exitCode;
    std::uint64_t reserved[2];
};
constexpr std::uint64_t kPidfdInfoExit = 1u << 3;

}  // namespace

FileDescriptor openProcess(pid_t pid) {
    return FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

KnownEnd knownEnd(const FileDescriptor& process) {
    PidfdInfo info{};
    info.mask = kPidfdInfoExit;
    constexpr unsigned long kGetInfo = _IOWR(0xFF, 11, PidfdInfo);
    if (!process.valid() || ::ioctl(process.get(), kGetInfo, &info) != 0) return {};
    if ((info.mask & kPidfdInfoExit) == 0) return {};
    if (WIFEXITED(info.exitCode)) return {WEXITSTATUS(info.exitCode), std::nullopt};
    if (WIFSIGNALED(info.exitCode)) return {std::nullopt, WTERMSIG(info.exitCode)};
    return {};
}

}  // namespace shardscope::launch
