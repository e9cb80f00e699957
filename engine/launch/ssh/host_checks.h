// Whether a host can take what is going to be sent there: said before anything is.
#pragma once

#include "engine/launch/ssh/host_look.h"
#include "engine/launch/ssh/payload.h"
#include "engine/launch/ssh/ssh_options.h"
#include "storage/model/result.h"

#include <string>

namespace shardscope::launch {

/// "Linux x86_64" of this host.
[[nodiscard]] std::string ownSystem();

/// How ranks on a host come by the LibTorch that they need.
enum class LibTorchWay {
    kThere,  ///< or none is needed
    kSent,
    kFetched,  ///< by fetch-libtorch, run there
    kNone,
};

[[nodiscard]] LibTorchWay libTorchWay(const SshOptions& options, const HostLook& look,
                                      const Payload& payload);

/// Whether that is to be with its CUDA part.
[[nodiscard]] bool wantsCuda(const SshOptions& options, const HostLook& look);

/// That the program runs there, and that there is room for what is missing. kLaunch.
Result<void> checkHost(const SshOptions& options, const SshHost& host, const HostLook& look,
                       const Payload& payload);

/// kLaunch: there is no LibTorch for ranks, and the ways to get one there. `why` it did not come
/// there by itself, where that was tried.
[[nodiscard]] Error noLibTorch(const SshOptions& options, const SshHost& host, const HostLook& look,
                               const Payload& payload, const std::string& why = {});

}  // namespace shardscope::launch
