// A `shardscope serve` that this process starts, and a session over its standard streams: on this
// machine, or through ssh to another one.
#pragma once

#include "storage/model/result.h"
#include "storage/recording/remote/remote_session.h"

#include <functional>
#include <memory>
#include <string>

namespace shardscope::storage::remote {

struct ChildOptions {
    std::string program;     ///< path of `shardscope`
    std::string sshCommand;  ///< empty: ssh
};

/// `target` as in RemoteAddress; empty: this machine. `notice` is told how far the connection is.
/// Errors as of RemoteSession::begin(), and kLaunch: the program cannot be started. The child ends
/// with the session. From any thread.
Result<std::unique_ptr<RemoteSession>> startServing(
    const ChildOptions& options, const std::string& target, const Generation& wanted = {},
    const std::function<void(const std::string&)>& notice = {});

}  // namespace shardscope::storage::remote
