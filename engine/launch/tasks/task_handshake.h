// How a task of a launcher and rank 0's task prove to each other that they know the run's secret:
// by the handshake of network/keyed_handshake.h, in which the task joins and its hello says who it
// is, its role and this protocol's version.
//
// Pure state machines of lines without their ends; one thread.
#pragma once

#include "engine/launch/tasks/task_secret.h"
#include "engine/network/keyed_handshake.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardscope::launch {

// What tasks of a run and rank 0's task say to each other over the connection that each keeps to
// it: lines of text.
//
//   task to rank 0's   a hello and a proof (task_handshake.h); "stop", "kill": it was asked to by a
//                      signal
//   rank 0's to task   its part of the handshake; "lead PROCESSORS": start your node's agent;
//                      "end STATUS": the run is over, end with this status
//
// The agent's connection is one more, with a hello and proofs of its own; frames follow. All that
// comes after the handshake is tagged, nothing is encrypted.

/// No line of this protocol is longer.
inline constexpr std::size_t kLongestTaskLine = 4096;

struct TaskHello {
    bool agent = false;  ///< of the node that the task leads: frames follow
    std::int32_t rank = 0;
    std::int32_t size = 0;
    std::string node;        ///< TaskPlace::node, or the host's name
    std::string host;        ///< its name
    std::string processors;  ///< that the task may use, as "0-3"
    std::string product;     ///< this build's name and version
    std::string run{};       ///< TaskSecret::run
    std::string nonce{};     ///< drawn for this connection
    friend bool operator==(const TaskHello&, const TaskHello&) = default;
};

[[nodiscard]] std::string helloLine(const TaskHello& hello);
/// Nothing: it is not a hello of this version.
[[nodiscard]] std::optional<TaskHello> parseHello(std::string_view line);

using network::after;

/// The task's side, also for its agent's connection (TaskHello::agent).
class JoiningHandshake : public network::JoiningHandshake {
public:
    JoiningHandshake(const TaskSecret& secret, const TaskHello& hello);
};

/// Rank 0's side.
class AdmittingHandshake : public network::AdmittingHandshake {
public:
    explicit AdmittingHandshake(const TaskSecret& secret)
        : network::AdmittingHandshake(secret.key), m_run(secret.run) {}

    /// The answer to a first line; nothing: it is not a hello of this protocol.
    [[nodiscard]] std::optional<std::string> challenge(std::string_view hello);
    /// After challenge(): what was said, so far by a stranger.
    [[nodiscard]] const TaskHello& hello() const { return m_task; }
    /// It calls its run as this one is called.
    [[nodiscard]] bool isOfThisRun() const { return m_task.run == m_run; }

private:
    std::string m_run;
    TaskHello m_task;
};

}  // namespace shardscope::launch
