// The words that ssh is called with. What is not named here is the user's configuration's.
#pragma once

#include "engine/launch/ssh/ssh_options.h"

#include <string>
#include <vector>

namespace shardscope::launch {

/// A connection that runs nothing, listens for sessions at `socket`, and prints one line break once
/// it stands.
[[nodiscard]] std::vector<std::string> masterWords(const SshOptions& options, const SshHost& host,
                                                   const std::string& socket);

/// Runs `command` there through the connection at `socket`, and never through one of its own.
[[nodiscard]] std::vector<std::string> sessionWords(const SshOptions& options, const SshHost& host,
                                                    const std::string& socket,
                                                    const std::string& command);

/// What the user would type to do the same, for sentences: "ssh -F CONFIG node1 true". Without a
/// command: a login.
[[nodiscard]] std::string typedCommand(const SshOptions& options, const SshHost& host,
                                       const std::string& command = {});

/// Connects only to fail at the host's key, and tells it on the way.
[[nodiscard]] std::vector<std::string> keyWords(const SshOptions& options, const SshHost& host);

}  // namespace shardscope::launch
