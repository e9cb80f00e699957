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
#pragma once

#include "storage/model/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardscope::launch {

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

}  // namespace shardscope::launch
