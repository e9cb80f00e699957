#include "engine/launch/ssh/host_checks.h"

#include <fmt/format.h>
#include <sys/utsname.h>

namespace shardscope::launch {
namespace {

tl::unexpected<Error> refusal(std::string text) {
    return failure(ErrorCode::kLaunch, std::move(text));
}

std::string versionText(const GlibcVersion& version) {
    return fmt::format("{}.{}", version.major, version.minor);
}

Result<void> checkGlibc(const SshHost& host, const GlibcVersion& there,
                        const GlibcVersion& needed) {
    if (there == GlibcVersion{} && needed != GlibcVersion{})
        return refusal(fmt::format("{} has no glibc (musl?), and this program needs {} or newer",
                                   host.target, versionText(needed)));
    if (there < needed)
        return refusal(
            fmt::format("{} has glibc {}, and this program needs {} or newer; build "
                        "Shardscope on the oldest system that it is to run on",
                        host.target, versionText(there), versionText(needed)));
    return {};
}

/// In whole MB, upwards.
std::int64_t megabytes(Bytes bytes) {
    return (bytes.count + 999'999) / 1'000'000;
}

}  // namespace

std::string ownSystem() {
    utsname names{};
    ::uname(&names);
    return fmt::format("{} {}", names.sysname, names.machine);
}

Result<void> checkHost(const SshHost& host, const HostLook& look, const Payload& payload,
                       bool sendLibTorch) {
    if (look.system != ownSystem())
        return refusal(
            fmt::format("{} is a {}, and this program is for {}; start Shardscope on a "
                        "host of its kind",
                        host.target, look.system, ownSystem()));
    // It is going to be part of a list of folders.
    if (look.folder.find(':') != std::string::npos)
        return refusal(
            fmt::format("{} on {} has a colon in it, which no loader of libraries can "
                        "take; name another folder for this host",
                        look.folder, host.target));
    if (auto glibc = checkGlibc(host, look.glibc, payload.glibc); !glibc) return glibc;
    Bytes missing = look.programThere ? Bytes{} : payload.program.size();
    if (sendLibTorch && payload.libTorch) missing += payload.libTorch->size();
    if (payload.data && host.takesData && !look.dataThere) missing += payload.data->size();
    if (missing == Bytes{}) return {};
    if (!look.inTheWay.empty())
        return refusal(
            fmt::format("nothing can be put into {} on {}: {} is no folder; name another folder "
                        "for this host",
                        look.folder, host.target, look.inTheWay));
    if (!look.writable)
        return refusal(
            fmt::format("nothing can be put into {} on {}: it may not be written; name "
                        "another folder for this host",
                        look.folder, host.target));
    if (look.freeDisk && *look.freeDisk < missing)
        return refusal(fmt::format(
            "{} has {} MB left where {} is, and {} MB are to be sent there; make room, or name "
            "another folder for this host",
            host.target, look.freeDisk->count / 1'000'000, look.folder, megabytes(missing)));
    return {};
}

Error noLibTorch(const SshHost& host, const HostLook& look) {
    const std::string version = libTorchVersion();
    const std::string other = look.otherTorch.empty()
                                  ? ""
                                  : fmt::format(" (python3 there has torch {})", look.otherTorch);
    return {ErrorCode::kLaunch,
            fmt::format("{0} has no LibTorch {1}{2}; run packaging/fetch-libtorch there, or pip "
                        "install torch=={1} for the python3 that `ssh {0} python3` starts, or have "
                        "this host's sent there once (--deploy-libtorch)",
                        host.target, version, other)};
}

}  // namespace shardscope::launch
