// How this process keeps the memory that it frees.
#pragma once

namespace shardscope::desktop {

/// Large blocks, as decoded events are, go back to the system when they are freed. Without it the
/// C library learns from the first of them to keep such blocks for the next, in every thread.
/// Before threads are started.
void returnFreedBlocks();

}  // namespace shardscope::desktop
