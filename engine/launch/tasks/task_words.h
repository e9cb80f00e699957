// What tasks of a run and rank 0's task say to each other over the connection that each keeps to
// it: lines of text.
//
//   task to rank 0's   a TaskHello behind a proof; "stop", "kill": it was asked to by a signal
//   rank 0's to task   "welcome PROOF"; "refused PROOF SENTENCE"; "token RUN": yours is another;
//                      "lead PROCESSORS": start your node's agent; "end STATUS": the run is over,
//                      end with this status
//
// The agent's connection is one more, with a hello of its own; frames follow its welcome. Nothing
// is encrypted, and proofs are the same in each connection: they keep other runs and accidental
// visitors out, not somebody who reads the network.
#pragma once

#include "storage/model/result.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardscope::launch {

/// Longer lines are nobody's of ours.
inline constexpr std::size_t kLongestTaskLine = 2048;

/// Digests of what tasks of a run have in common.
struct TaskSecret {
    std::string task;   ///< tasks show it to rank 0's
    std::string first;  ///< rank 0's task shows it to them
    std::string run;    ///< of those with another token too, who are told so: proves nothing
    std::string place;  ///< where they meet on one host, whatever their tokens

    /// Of TaskPlace::identity and TaskPlace::token. Starts sha256sum.
    static Result<TaskSecret> of(const std::string& identity, const std::string& token = {});
};

struct TaskHello {
    bool agent = false;  ///< of the node that the task leads: frames follow
    std::int32_t rank = 0;
    std::int32_t size = 0;
    std::string node;        ///< TaskPlace::node, or the host's name
    std::string host;        ///< its name
    std::string processors;  ///< that the task may use, as "0-3"
    std::string product;     ///< this build's name and version
    friend bool operator==(const TaskHello&, const TaskHello&) = default;
};

/// With its end of line.
[[nodiscard]] std::string helloLine(const TaskSecret& secret, const TaskHello& hello);
/// Without its end of line; nothing: whoever said it is none of ours.
[[nodiscard]] std::optional<TaskHello> parseHello(const TaskSecret& secret, std::string_view line);

/// A task that has not proved that it is of this run.
struct StrangeTask {
    TaskHello hello;  ///< what it says of itself
    std::string run;  ///< TaskSecret::run of its own
};
/// Nothing: whoever said it is no task.
[[nodiscard]] std::optional<StrangeTask> parseStrange(std::string_view line);

/// What follows `word` and a blank in a line that begins with them.
[[nodiscard]] std::optional<std::string_view> after(std::string_view line, std::string_view word);

}  // namespace shardscope::launch
