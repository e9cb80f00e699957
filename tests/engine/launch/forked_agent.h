// An agent in a process of the test's own that the recorder takes for one on another host.
#pragma once

#include "engine/launch/agent_transport.h"
#include "engine/launch/process.h"
#include "storage/model/file_descriptor.h"

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <utility>

namespace shardscope::launch {

class ForkedAgent final : public AgentTransport {
public:
    /// What the process does with its end of the stream; its result is the process's status.
    explicit ForkedAgent(const std::function<int(FileDescriptor)>& agent) {
        auto ends = socketPair().value();
        m_pid = ::fork();
        if (m_pid == 0) {
            ends.first.reset();
            ::_exit(agent(std::move(ends.second)));
        }
        m_channel = FrameChannel(std::move(ends.first));
    }
    ~ForkedAgent() override {
        m_channel.close();
        end();
    }
    ForkedAgent(const ForkedAgent&) = delete;
    ForkedAgent& operator=(const ForkedAgent&) = delete;
    FrameChannel takeChannel() override { return std::move(m_channel); }
    std::string endText() override { return "the connection was lost"; }
    void end() override {
        if (m_pid > 0) ::waitpid(std::exchange(m_pid, -1), nullptr, 0);
    }

private:
    pid_t m_pid = -1;
    FrameChannel m_channel;
};

}  // namespace shardscope::launch
