// What ssh says of a connection that did not come about, as one sentence with a remedy.
#pragma once

#include "engine/launch/ssh/ssh_options.h"
#include "storage/model/result.h"

#include <string>

namespace shardscope::launch {

enum class SshFailure {
    kUnknownKey,
    kChangedKey,
    kDenied,
    kRefused,
    kNoSuchName,
    kTimedOut,
    kDropped,  ///< by a server at its limits: worth another try
    kOther,
};

/// From ssh's standard error.
[[nodiscard]] SshFailure failureOf(const std::string& words);

/// kLaunch. `fingerprint` is of an unknown key, where it is known.
[[nodiscard]] Error connectError(const SshOptions& options, const SshHost& host,
                                 const std::string& words, const std::string& fingerprint);

/// "ED25519 SHA256:..." of the last key named in the output of `ssh -v`; empty without one.
[[nodiscard]] std::string fingerprintIn(const std::string& verbose);

}  // namespace shardscope::launch
