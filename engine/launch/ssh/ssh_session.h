// One command on a host, run by /bin/sh through the host's connection whatever its login shell is
// and prints.
//
// Used from one poll loop; nothing here waits. SIGPIPE must be ignored by the process.
#pragma once

#include "engine/launch/ssh/child_process.h"
#include "engine/launch/ssh/login_shell.h"
#include "engine/launch/ssh/ssh_master.h"
#include "engine/launch/ssh/ssh_options.h"
#include "storage/model/result.h"

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace shardscope::launch {

class SshSession {
public:
    /// `line` prints the token when it has come to the point, and what it has to tell after that.
    static Result<SshSession> start(const SshOptions& options, const SshHost& host,
                                    const SshMaster& master, Token token, const std::string& line);

    /// Gives a command that waits for it one more line, with a token of its own.
    void proceed(Token token, const std::string& line);

    void addPolls(std::vector<pollfd>& polls) const;
    /// Takes in what there is: nothing past the token until `afterToken`.
    void turn(bool afterToken);

    [[nodiscard]] bool hasBegun() const { return m_token.wanted() == 0; }
    /// The command and its streams have ended.
    [[nodiscard]] bool hasEnded();
    /// It was the command's end, with this status; otherwise ssh's own.
    [[nodiscard]] bool endedWith(int status);
    [[nodiscard]] const std::string& output() const { return m_output; }
    [[nodiscard]] const std::string& words() const { return m_words; }
    [[nodiscard]] std::size_t noiseBytes() const { return m_token.noiseBytes(); }
    /// Prints without end, or more than anything that was asked for.
    [[nodiscard]] bool isFlooding() const;
    /// Something was done with it: it is not silent.
    void noteProgress() { m_heard = std::chrono::steady_clock::now(); }
    /// For how long nothing has come.
    [[nodiscard]] std::chrono::steady_clock::duration silence() const;
    /// For sentences: how it ended and its last words.
    [[nodiscard]] std::string endText();

    ChildProcess& child() { return m_child; }

private:
    SshSession(ChildProcess child, Token token);

    ChildProcess m_child;
    Token m_token;
    std::string m_output;
    std::string m_words;
    std::chrono::steady_clock::time_point m_heard;
};

// With what status our lines end on a host, and what that means.

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
