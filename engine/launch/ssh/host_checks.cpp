#include "engine/launch/ssh/host_checks.h"

#include "engine/launch/ssh/ssh_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
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

Bytes missingThere(const SshOptions& options, const SshHost& host, const HostLook& look,
                   const Payload& payload) {
    Bytes missing = look.programThere ? Bytes{} : payload.program.size();
    const LibTorchWay way = libTorchWay(options, look, payload);
    if (way == LibTorchWay::kSent) missing += payload.libTorch->size();
    if (way == LibTorchWay::kFetched)
        missing += wantsCuda(options, look) ? payload.fetch->cuda : payload.fetch->cpu;
    if (payload.data && host.takesData && !look.dataThere) missing += payload.data->size();
    return missing;
}

/// Why LibTorch is not on its way; empty: it was not asked for.
std::string hindrance(const SshOptions& options, const HostLook& look, const Payload& payload) {
    if (options.deployLibTorch && !payload.libTorch) return "this machine has none to send";
    if (options.deployLibTorch && wantsCuda(options, look) && !payload.libTorchCuda)
        return "this machine has no whole CUDA part to send: packaging/fetch-libtorch --cuda "
               "brings "
               "it";
    if (options.deployLibTorch || !payload.fetch || look.fetchLacks.empty()) return {};
    return fmt::format("it cannot be fetched there: there is no {}",
                       fmt::join(look.fetchLacks, ", no "));
}

}  // namespace

LibTorchWay libTorchWay(const SshOptions& options, const HostLook& look, const Payload& payload) {
    const bool cuda = wantsCuda(options, look);
    const bool there = !look.libTorch.empty() && (look.torchCuda || !cuda);
    if (there || !payload.hasRank()) return LibTorchWay::kThere;
    if (options.deployLibTorch)
        return payload.libTorch && (payload.libTorchCuda || !cuda) ? LibTorchWay::kSent
                                                                   : LibTorchWay::kNone;
    return payload.fetch && look.fetchLacks.empty() ? LibTorchWay::kFetched : LibTorchWay::kNone;
}

bool wantsCuda(const SshOptions& options, const HostLook& look) {
    return options.wantsGpus && !look.gpus.empty();
}

std::string ownSystem() {
    utsname names{};
    ::uname(&names);
    return fmt::format("{} {}", names.sysname, names.machine);
}

Result<void> checkHost(const SshOptions& options, const SshHost& host, const HostLook& look,
                       const Payload& payload) {
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
    const Bytes missing = missingThere(options, host, look, payload);
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
            "{} has {} MB left where {} is, and {} MB are to be put there; make room, or name "
            "another folder for this host",
            host.target, look.freeDisk->count / 1'000'000, look.folder, megabytes(missing)));
    return {};
}

Error noLibTorch(const SshOptions& options, const SshHost& host, const HostLook& look,
                 const Payload& payload, const std::string& why) {
    const std::string version = libTorchVersion();
    std::string lack = "no LibTorch " + version;
    if (!look.otherTorch.empty())
        lack += fmt::format(" (python3 there has torch {})", look.otherTorch);
    if (!look.libTorch.empty()) lack = fmt::format("LibTorch {} without its CUDA part", version);
    const std::string reason = why.empty() ? hindrance(options, look, payload) : why;
    return {ErrorCode::kLaunch,
            fmt::format("{} has {}{}; run packaging/fetch-libtorch{} there, or pip install "
                        "torch=={} for the python3 that `{}` starts, or have this host's sent "
                        "there once (--deploy-libtorch)",
                        host.target, lack, reason.empty() ? "" : ", and " + reason,
                        wantsCuda(options, look) ? " --cuda" : "", version,
                        typedCommand(options, host, "python3"))};
}

}  // namespace shardscope::launch
