// A running agent on a host: its frames, its standard error, and the processes here that carry
// them.
//
// Used from one poll loop; nothing here waits but close() and endText(). No process and no file of
// it is left once it has been closed; the agent there ends when its input does.
#pragma once

#include "engine/launch/file_descriptor.h"
#include "engine/launch/frame_channel.h"
#include "engine/launch/ssh/child_process.h"
#include "engine/launch/ssh/ssh_master.h"

#include <poll.h>

#include <string>
#include <vector>

namespace shardscope::launch {

class SshAgent {
public:
    /// `session` has printed its token: what follows are frames.
    SshAgent(SshMaster master, ChildProcess session);
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

    /// Closes its streams, which tells the agent to end. To be called for all hosts before close()
    /// is for any, so that they end side by side.
    void hangUp();
    /// Waits for the agent's end for a few seconds, then ends the session and the connection.
    void close();

private:
    SshMaster m_master;  ///< goes after the session
    ChildProcess m_session;
    FrameChannel m_channel;
};

}  // namespace shardscope::launch
