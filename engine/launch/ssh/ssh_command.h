// The words that ssh is called with. What is not named here is the user's configuration's.
#pragma once

#include "engine/launch/ssh/ssh_options.h"

#include <string>
#include <string_view>
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

// What this program says when ssh runs it to ask a question (SSH_ASKPASS): yes to the one key whose
// fingerprint the user has accepted, and to nothing else.

/// The variable that the fingerprint stands in.
inline constexpr const char* kAcceptedKey = "SHARDSCOPE_ACCEPTED_KEY";

/// To a question of ssh's: the fingerprint where it is asked about that very key, which ssh
/// compares once more; else "no". A question about anything else, a password above all, gets no
/// answer: empty.
[[nodiscard]] std::string answerTo(std::string_view question, std::string_view accepted);

}  // namespace shardscope::launch
