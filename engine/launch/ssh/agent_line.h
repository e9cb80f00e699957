// How the agent, or another verb of the program, is started on a host where everything is.
#pragma once

#include "engine/launch/ssh/payload.h"
#include "engine/launch/ssh/ssh_options.h"
#include "engine/launch/ssh/token.h"

#include <string>

namespace shardscope::launch {

/// Prints the token, and becomes the agent: frames follow. `payload` is what lies there, `libTorch`
/// as in HostLook. Where the program or a rank (tried once a host and LibTorch) cannot be run it
/// ends with a RemoteStatus before that.
[[nodiscard]] std::string agentLine(const SshHost& host, const Token& token, const Payload& payload,
                                    const std::string& libTorch);

}  // namespace shardscope::launch
