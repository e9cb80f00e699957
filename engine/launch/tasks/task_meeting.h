// Rank 0's side of a run whose tasks a launcher has started: meets all tasks, finds out which hosts
// there are, has the first task of each start its agent, and tells all when the run is over. Where
// each task has a program of its own, each of them connects as an agent would.
//
// The recorder's thread. Nothing listens any more once the agents are there.
#pragma once

#include "engine/launch/agent_transport.h"
#include "engine/launch/run_supervisor.h"
#include "engine/launch/tasks/processor_set.h"
#include "engine/launch/tasks/task_environment.h"
#include "engine/launch/tasks/task_handshake.h"
#include "engine/launch/tasks/task_secret.h"
#include "engine/launch/tasks/task_socket.h"
#include "storage/model/result.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::launch {

/// Pods and jobs start minutes apart.
inline constexpr std::chrono::minutes kTaskPatience{10};

/// Tasks of one host.
struct TaskHost {
    std::string name;  ///< no two have the same
    std::int32_t tasks = 0;
    ProcessorSet processors;  ///< that they were given together
};

/// What the tasks are there for.
enum class TaskWork : std::uint8_t {
    kRanks,    ///< of a run of our own: one agent on each host starts them
    kProgram,  ///< each starts a program, with the processors that it was given
};

class TaskMeeting {
public:
    using GoOn = std::function<bool()>;
    using Say = std::function<void(const std::string&)>;

    /// Listens; `interface` as for listenForTasks(). `product`: other builds are refused.
    static Result<TaskMeeting> open(const TaskPlace& place, const std::string& product,
                                    const std::string& interface, TaskWork work = TaskWork::kRanks);
    TaskMeeting(TaskMeeting&&) noexcept = default;
    TaskMeeting& operator=(TaskMeeting&&) = delete;
    ~TaskMeeting() = default;  ///< tasks that did not hear of the end have lost us

    /// Until all tasks are there; then this process has all processors of its host's tasks, if they
    /// are ranks. Tasks that do not fit are refused, and reported, and waited for on: others may
    /// come. kLaunch when one is lost or they do not come; kInterrupted when `goOn` says no or a
    /// task was asked to stop.
    Result<void> gather(const GoOn& goOn, const Say& say,
                        std::chrono::milliseconds patience = kTaskPatience);
    /// When all are there; this host is the first.
    [[nodiscard]] const std::vector<TaskHost>& hosts() const { return m_hosts; }

    /// Has the other hosts' agents started; they are connected when it returns.
    Result<void> startAgents(const GoOn& goOn);
    /// Of a host but the first, or of a task with a program but the first. Once.
    [[nodiscard]] std::unique_ptr<AgentTransport> takeAgent(std::size_t number);
    /// This host's address that others have reached; empty: there is no other host.
    [[nodiscard]] const std::string& address() const { return m_address; }
    /// Tasks of several hosts, which prove no secret to each other (--trust-network).
    [[nodiscard]] bool trustsNetwork() const {
        return !m_place.onOneHost() && m_place.secret.empty();
    }

    /// Stops the run when a task was asked to, and abandons it when one is lost.
    void attach(RunSupervisor& run, const Say& say);

    /// Tells all tasks that are there the status to end with, and waits for them a moment.
    void end(int status);

private:
    using Clock = std::chrono::steady_clock;
    /// A connection whose other end has not proved that it is of this run.
    struct Guest {
        TaskLine line;
        Clock::time_point until;
        std::string network;                            ///< peerNetworkOf()
        std::optional<AdmittingHandshake> handshake{};  ///< once it has said its hello
    };
    struct Member {
        TaskHello hello;
        TaskLine line;
        std::string network;
        bool leads = false;
    };
    struct NodeAgent {
        FileDescriptor socket;
        std::optional<network::SealPair> seals{};
    };
    TaskMeeting(TaskPlace place, TaskSecret secret, TaskHello own, TaskListeners listeners,
                TaskWork work)
        : m_place(std::move(place)),
          m_secret(std::move(secret)),
          m_own(std::move(own)),
          m_listeners(std::move(listeners)),
          m_work(work) {}

    Result<void> waitFor(const std::function<bool()>& holds, const GoOn& goOn, const Say& say,
                         std::chrono::milliseconds patience);
    void turn();
    Result<void> hearMembers();
    void acceptGuests();
    void makeRoom();
    bool hear(Guest& guest);
    bool challenge(Guest& guest, std::string_view said);
    void admit(Guest& guest);
    void admitAgent(Guest& guest);
    void noteRefusal(const TaskHello& hello, const std::string& why);
    void noteStranger(const Guest& guest, const TaskHello& hello, const std::string& why);
    [[nodiscard]] std::string complaintOf(const TaskHello& hello) const;
    [[nodiscard]] std::string absent() const;
    [[nodiscard]] bool agentsAreThere() const;
    [[nodiscard]] std::size_t hostOf(const TaskHello& hello) const;
    [[nodiscard]] std::size_t agentOf(const TaskHello& hello) const;
    void findHosts();
    bool hear(Member& member, RunSupervisor& run, const Say& say);

    TaskPlace m_place;
    TaskSecret m_secret;
    TaskHello m_own;
    TaskListeners m_listeners;
    TaskWork m_work;
    std::vector<Guest> m_guests;
    std::vector<Member> m_members;
    std::vector<TaskHost> m_hosts;
    std::vector<std::string> m_nodes;  ///< by host
    std::vector<NodeAgent> m_agents;   ///< by host; of programs by task
    std::string m_address;
    std::set<std::string> m_refusals;                    ///< each is said once
    std::map<std::string, std::size_t> m_strangersSaid;  ///< by network
    std::vector<std::string> m_unsaid;                   ///< of them
    bool m_stopAsked = false;
};

/// What a task says of itself. Those that have other work count as of another build.
[[nodiscard]] TaskHello helloOf(const TaskPlace& place, const std::string& product,
                                TaskWork work = TaskWork::kRanks);

}  // namespace shardscope::launch
