// What the tasks of a run know and others do not: where it comes from, and the key made of it.
#pragma once

#include "engine/launch/tasks/task_environment.h"
#include "engine/network/keyed_hash.h"
#include "storage/model/result.h"

#include <string>

namespace shardscope::launch {

/// Shorter secrets can be guessed; rank 0's task warns of them.
inline constexpr std::size_t kShortSecret = 16;

/// What the command line says of the secret.
struct TaskTrust {
    std::string tokenFile;      ///< --task-token-file; empty: none
    bool trustNetwork = false;  ///< --trust-network: tasks on several hosts need no secret
};

/// Decides by what the tasks of `place` know each other: the file's token, SHARDSCOPE_TASK_TOKEN,
/// or what torchrun's user has called the run. Without any of these, tasks that look for rank 0's
/// at a loopback address meet within this host, and those of several hosts are kUsage with a
/// sentence that shows how to pass a token on. kUnreadable: the file.
Result<void> settleSecret(TaskPlace& place, const TaskTrust& trust);

/// The first line of a file that only its owner (this user or root) can read, kUnreadable else.
Result<std::string> readTokenFile(const std::string& path);

/// What both ends of a connection between tasks compute from TaskPlace.
struct TaskSecret {
    network::Key key;   ///< proved, never sent
    std::string run;    ///< by which tasks tell runs apart; proves nothing
    std::string place;  ///< a file name: where they meet on one host

    /// Takes tens of milliseconds (network::keyFrom).
    static TaskSecret of(const TaskPlace& place);
};

}  // namespace shardscope::launch
