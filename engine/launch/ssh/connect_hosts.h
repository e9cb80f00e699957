// Reaches hosts, looks at them, puts the program there and starts an agent on each.
#pragma once

#include "engine/launch/frame_channel.h"
#include "engine/launch/ssh/child_process.h"
#include "engine/launch/ssh/host_look.h"
#include "engine/launch/ssh/payload.h"
#include "engine/launch/ssh/ssh_master.h"
#include "engine/launch/ssh/ssh_options.h"
#include "storage/model/file_descriptor.h"
#include "storage/model/result.h"
#include "storage/model/units.h"

#include <poll.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::launch {

/// A running agent on a host: its frames, its standard error, and the processes here that carry
/// them.
///
/// Used from one poll loop; nothing here waits but close() and endText(). No process and no file of
/// it is left once it has been closed; the agent there ends when its input does.
class SshAgent {
public:
    /// `session` has printed its token: what follows are frames.
    SshAgent(SshMaster master, ChildProcess session, SshOptions options, SshHost host);
    SshAgent(SshAgent&&) noexcept = default;
    SshAgent& operator=(SshAgent&&) = delete;
    ~SshAgent();

    FrameChannel& channel() { return m_channel; }
    /// What the agent writes to standard error; non-blocking.
    FileDescriptor& errors() { return m_session.errors; }

    /// Of ssh's own words; the channel and errors() are the owner's to poll.
    void addPolls(std::vector<pollfd>& polls) const { m_master.addPolls(polls); }
    void turn() { m_master.turn(); }

    /// How the agent ended, or ssh (status 255); nothing while it runs.
    const std::optional<ProcessEnd>& end() { return m_session.end(); }
    /// The same for sentences: "it ended with status 1", "it was killed: its
    /// connection lives", "the connection was lost (...)". Once the
    /// channel is closed; waits a moment for it.
    [[nodiscard]] std::string endText();

    /// Ends the process of a program of ours there with SIGKILL, an agent that hangs; its ranks end
    /// with it. Waits a few seconds; whether it is gone.
    bool kill(std::int64_t pid);
    /// Closes its streams, which tells the agent to end. To be called for all hosts before close()
    /// is for any, so that they end side by side.
    void hangUp();
    /// Waits for the agent's end for a few seconds, then ends the session and the connection.
    void close();

private:
    SshMaster m_master;  ///< goes after the session
    ChildProcess m_session;
    FrameChannel m_channel;
    SshOptions m_options;
    SshHost m_host;
};

enum class ConnectState {
    kWaiting,  ///< for its turn, or for another try
    kConnecting,
    kLooking,
    kSending,
    kFetching,  ///< LibTorch, by a program that runs there
    kStarting,
    kReady,
    kFailed,
};

/// Where one host is.
struct ConnectProgress {
    ConnectState state = ConnectState::kWaiting;
    std::string detail;  ///< what is sent or fetched, why it waits or failed; may be empty
    Bytes sent{};        ///< of what is sent or fetched now
    Bytes all{};         ///< 0: not known
    friend bool operator==(const ConnectProgress&, const ConnectProgress&) = default;
};

/// Called from within connectHosts() and lookAtHosts().
class ConnectObserver {
public:
    virtual ~ConnectObserver() = default;
    /// At each change. `host` counts from 0.
    virtual void progress(std::size_t host, const ConnectProgress& progress) = 0;
    /// At least five times a second; false: all is given up, and nothing left behind.
    virtual bool goOn() = 0;
};

/// What came of a host: an error, or else what was asked for.
struct HostConnection {
    HostLook look;  ///< as far as it was found out
    std::optional<SshAgent> agent;
    std::optional<Error> failure;
    std::string unknownKey;  ///< its fingerprint, "SHA256:...", where that is why it failed
};

/// An agent on each host, in their order. Eight at a time, so that no server or jump host is
/// stormed; a connection that a server dropped at its limits is tried again. What cannot be had is
/// a sentence (kLaunch; kInterrupted where it was given up) beside the others' agents. From the
/// process's main thread (see spawn()), with SIGPIPE ignored.
std::vector<HostConnection> connectHosts(const std::vector<SshHost>& hosts,
                                         const SshOptions& options, const Payload& payload,
                                         ConnectObserver& observer);

/// The same without sending or starting anything.
std::vector<HostConnection> lookAtHosts(const std::vector<SshHost>& hosts,
                                        const SshOptions& options, const Payload& payload,
                                        ConnectObserver& observer);

}  // namespace shardscope::launch
