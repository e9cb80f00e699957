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

/// That the program runs there, and that there is room for what is missing. `sendLibTorch`: it is
/// going to be sent as well. kLaunch.
Result<void> checkHost(const SshHost& host, const HostLook& look, const Payload& payload,
                       bool sendLibTorch);

/// kLaunch: there is no LibTorch for ranks, and the ways to get one there.
[[nodiscard]] Error noLibTorch(const SshHost& host, const HostLook& look);

}  // namespace shardscope::launch
