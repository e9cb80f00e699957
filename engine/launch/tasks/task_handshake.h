// How a task and rank 0's prove to each other that they know the run's secret, without showing it.
//
//   task         HELLO                           who it is, and a nonce
//   rank 0's     "challenge NONCE"
//   task         "proof MAC"
//   rank 0's     "welcome MAC"                   it knows the secret too
//            or  "refused MAC SENTENCE"          the task does not fit
//            or  "unproved"                      it has another secret; proves nothing itself
//
// The three passes are those of ISO/IEC 9798-4: each MAC is over what it is for, the hello as it
// was sent, role and version included, and rank 0's nonce, so that none can be used on another
// connection, in another role or by the other side. The task proves first: only what listens where
// rank 0's task should gets anything to guess at. From then on every line and frame has a tag by
// keys of this connection (network::Seal): a relay can change nothing in them.
//
// Pure state machines of lines without their ends; one thread.
#pragma once

#include "engine/launch/tasks/task_secret.h"
#include "engine/network/keyed_hash.h"
#include "storage/model/result.h"

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

/// What follows `word` and a blank in a line that begins with them.
[[nodiscard]] std::optional<std::string_view> after(std::string_view line, std::string_view word);

/// The task's side, also for its agent's connection (TaskHello::agent).
class JoiningHandshake {
public:
    JoiningHandshake(const TaskSecret& secret, const TaskHello& hello);

    /// What to say first.
    [[nodiscard]] const std::string& hello() const { return m_hello; }
    /// The answer to rank 0's first line; nothing: this is not rank 0's task.
    [[nodiscard]] std::optional<std::string> prove(std::string_view challenge);

    enum class Verdict : std::uint8_t { kStranger, kUnproved, kRefused, kWelcome };
    struct Answer {
        Verdict verdict = Verdict::kStranger;
        std::string sentence;  ///< of kRefused
    };
    /// What rank 0's second line says. Only kRefused and kWelcome were proved.
    [[nodiscard]] Answer hear(std::string_view line) const;

    /// After kWelcome.
    [[nodiscard]] network::SealPair seals() const;
    /// The same, for a process that goes on with the connection.
    [[nodiscard]] std::pair<network::Key, network::Key> keys() const;

private:
    TaskSecret m_secret;
    std::string m_hello;
    std::string m_nonce;  ///< rank 0's
};

/// Rank 0's side.
class AdmittingHandshake {
public:
    explicit AdmittingHandshake(const TaskSecret& secret) : m_secret(secret) {}

    /// The answer to a first line; nothing: it is not a hello of this protocol.
    [[nodiscard]] std::optional<std::string> challenge(std::string_view hello);
    /// After challenge(): what was said, so far by a stranger.
    [[nodiscard]] const TaskHello& hello() const { return m_task; }
    /// It calls its run as this one is called.
    [[nodiscard]] bool isOfThisRun() const { return m_task.run == m_secret.run; }
    [[nodiscard]] bool proves(std::string_view line) const;

    // After proves().
    [[nodiscard]] std::string welcome() const;
    [[nodiscard]] std::string refusal(std::string_view sentence) const;
    [[nodiscard]] network::SealPair seals() const;

private:
    TaskSecret m_secret;
    TaskHello m_task;
    std::string m_hello;
    std::string m_nonce;
};

}  // namespace shardscope::launch
