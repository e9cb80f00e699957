// libFuzzer on what tasks of a run and rank 0's hear from strangers before either has proved the
// secret: hellos, challenges, proofs, answers. None of it may be taken for a proof.
//
// Lines of the input, in turn, to a task and to rank 0's.
#include "engine/launch/tasks/task_handshake.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace shardscope::launch {
namespace {

void require(bool condition) {
    if (!condition) std::abort();
}

const TaskSecret& secret() {
    static const TaskSecret kSecret{network::keyFromHex(network::drawNonce()).value(), "run",
                                    "place"};
    return kSecret;
}

std::string_view nextLine(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

void toRankZeros(std::string_view text) {
    AdmittingHandshake first(secret());
    const bool known = first.challenge(nextLine(text)).has_value();
    require(!first.proves(nextLine(text)));
    if (!known) return;
    const TaskHello& hello = first.hello();
    require(hello.rank >= 0 && !hello.node.empty() && !hello.host.empty());
    require(parseHello(helloLine(hello)) == hello);
}

void toATask(std::string_view text) {
    JoiningHandshake task(secret(), {false, 1, 2, "n", "h", "0", "p"});
    static_cast<void>(task.prove(nextLine(text)));
    const auto verdict = task.hear(nextLine(text)).verdict;
    require(verdict == JoiningHandshake::Verdict::kStranger ||
            verdict == JoiningHandshake::Verdict::kUnproved);
}

}  // namespace
}  // namespace shardscope::launch

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    shardscope::launch::toRankZeros(text);
    shardscope::launch::toATask(text);
    return 0;
}
