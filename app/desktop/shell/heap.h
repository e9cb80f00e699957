// How this process keeps the memory that it frees.
#pragma once

namespace shardscope::desktop {

/// Threads share a few heaps: what one frees is there for the others. Without it the C library
/// gives each thread its own, and each keeps what its largest question took. Before threads
/// are started.
///
/// Giving large blocks back at once (M_MMAP_THRESHOLD) keeps less still, and makes every picture
/// two and a half times slower: the system clears them each time.
void shareHeaps();

}  // namespace shardscope::desktop
