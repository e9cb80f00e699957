// With what status our lines end on a host, and what that means.
#pragma once

#include "engine/launch/ssh/ssh_options.h"
#include "engine/launch/ssh/ssh_session.h"
#include "storage/model/result.h"

#include <string>

namespace shardscope::launch {

/// Numbers that shells and ssh leave alone.
enum class RemoteStatus : int {
    kNoFolder = 91,  ///< cannot be made
    kNotUnpacked = 92,
    kSumsDiffer = 93,
    kDoesNotRun = 94,  ///< the program, though it may be executed
    kNotExecutable = 95,
    kRankDoesNotLoad = 96,
    kCannotFetch = 97,  ///< LibTorch: found out before anything was fetched
    kNotFetched = 98,
};

/// The shell word that ends a line with it.
[[nodiscard]] std::string exitWith(RemoteStatus status);

/// The shell line that sees whether the program in folder $f runs, and ends where it does not.
[[nodiscard]] std::string programCheck();

/// kLaunch: why a line for what lies in `folder` on a host ended as `session` did. `doing` is what
/// was being done, for ends that have no name here.
[[nodiscard]] Error remoteError(const SshHost& host, const std::string& folder, SshSession& session,
                                const std::string& doing);

}  // namespace shardscope::launch
