// How the recorder reaches an agent, and how that ends. Main thread.
#pragma once

#include "engine/launch/frame_channel.h"
#include "storage/model/result.h"

#include <poll.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace shardscope::launch {

class AgentTransport {
public:
    virtual ~AgentTransport() = default;  ///< ends it

    /// The agent's frames. Once.
    [[nodiscard]] virtual FrameChannel takeChannel() = 0;
    /// On this host: it reads our clock, writes to our standard error, and its end shows at once.
    [[nodiscard]] virtual bool isLocal() const { return false; }
    /// By a signal (Ctrl-Z) or a debugger, as far as that is known.
    [[nodiscard]] virtual bool isStopped() const { return false; }

    virtual void addPolls(std::vector<pollfd>&) const {}
    /// What it, or what it was reached through, wrote to standard error since.
    [[nodiscard]] virtual std::vector<std::string> takeErrorLines() { return {}; }

    /// Why its stream has ended: "it ended with status 3". Waits for that a moment.
    [[nodiscard]] virtual std::string endText() = 0;
    /// Of another host: ends process `pid` there, an agent that is silent, with its ranks. Takes
    /// seconds; false: it may still be there.
    virtual bool kill(std::int64_t pid) {
        static_cast<void>(pid);
        return false;
    }
    /// Once the channel is closed: leaves no process behind. Takes seconds at most.
    virtual void end() = 0;
};

/// An agent on this host, whose ranks are in one group of processes with it.
Result<std::unique_ptr<AgentTransport>> startLocalAgent(const std::string& program,
                                                        const std::vector<std::string>& arguments);

}  // namespace shardscope::launch
