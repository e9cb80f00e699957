// Which processors a process may use, as launchers bind each task to a few: the ranks of a node
// share what its tasks were given together.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace shardscope::launch {

using ProcessorSet = std::set<int>;

/// Of this process; empty: there is no telling.
[[nodiscard]] ProcessorSet ownProcessors();
/// For this process and those it starts from now on; none: as they are. Best effort: where it is
/// refused they stay as they are.
void useProcessors(const ProcessorSet& processors);

/// "0-3,8", as the kernel writes them.
[[nodiscard]] std::string toText(const ProcessorSet& processors);
/// What is no such list is empty.
[[nodiscard]] ProcessorSet processorsOf(std::string_view text);

}  // namespace shardscope::launch
