#include "engine/launch/agent_transport.h"
#include "engine/launch/kill_cause.h"
#include "engine/launch/process.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <utility>

namespace shardscope::launch {
namespace {

/// For an agent that does not end: it may be waiting for a rank that does not.
constexpr std::chrono::seconds kGraceBeforeKill = kGraceAfterKill + std::chrono::seconds(2);
constexpr std::chrono::seconds kGraceWhileStopped{1};

class LocalAgent final : public AgentTransport {
public:
    LocalAgent(pid_t pid, FrameChannel channel) : m_pid(pid), m_channel(std::move(channel)) {}
    ~LocalAgent() override {
        m_channel.close();
        end();
    }
    LocalAgent(const LocalAgent&) = delete;
    LocalAgent& operator=(const LocalAgent&) = delete;

    FrameChannel takeChannel() override { return std::move(m_channel); }
    bool isLocal() const override { return true; }
    bool isStopped() const override { return m_pid >= 0 && launch::isStopped(m_pid); }

    std::string endText() override {
        // Its end of the socket closes a moment before its status can be had.
        for (int turn = 0; turn < 20 && m_pid >= 0; ++turn) {
            if (const auto end = reap(m_pid)) {
                ::kill(-m_pid, SIGKILL);
                m_pid = -1;
                if (end->signal) {
                    const std::string cause = m_causes.of(*end);
                    return "it was ended by " + signalText(*end->signal) +
                           (cause.empty() ? cause : ": " + cause);
                }
                return fmt::format("it ended with status {}", end->code.value_or(-1));
            }
            ::poll(nullptr, 0, 5);
        }
        return "it closed the connection";
    }

    /// The closed channel ends the agent and with it its ranks; the group is for one that hangs.
    void end() override {
        if (m_pid < 0) return;
        // One that is stopped cannot end by itself.
        if (!endsWithin(isStopped() ? kGraceWhileStopped : kGraceBeforeKill)) {
            ::kill(-m_pid, SIGKILL);
            endsWithin(kGraceAfterKill);
        }
        // Ranks share the agent's group: none is left when it was killed before it could clean up.
        ::kill(-m_pid, SIGKILL);
        m_pid = -1;
    }

private:
    bool endsWithin(std::chrono::seconds time) const {
        const auto deadline = std::chrono::steady_clock::now() + time;
        while (!reap(m_pid)) {
            if (std::chrono::steady_clock::now() >= deadline) return false;
            ::poll(nullptr, 0, 5);
        }
        return true;
    }

    pid_t m_pid;
    FrameChannel m_channel;
    KillCauses m_causes;
};

}  // namespace

Result<std::unique_ptr<AgentTransport>> startLocalAgent(const std::string& program,
                                                        const std::vector<std::string>& arguments) {
    auto sockets = socketPair();
    if (!sockets) return failure(sockets);
    SpawnRequest request;
    request.program = program;
    request.arguments = arguments;
    request.descriptors = {{sockets->second.get(), 0}, {sockets->second.get(), 1}};
    // Out of the terminal's group: Ctrl-C is for the recorder alone, which ends the run in order.
    request.ownGroup = true;
    const auto pid = spawn(request);
    if (!pid) return failure(pid, "starting the agent");
    return std::unique_ptr<AgentTransport>(
        std::make_unique<LocalAgent>(*pid, FrameChannel(std::move(sockets->first))));
}

}  // namespace shardscope::launch
