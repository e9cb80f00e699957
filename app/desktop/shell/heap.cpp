#include "app/desktop/shell/heap.h"

#include <malloc.h>

namespace shardscope::desktop {
namespace {

/// Smaller ones cost more to ask the system for than they are worth.
constexpr int kLarge = 1 << 20;
/// Free bytes at a heap's end.
constexpr int kKept = 4 << 20;

}  // namespace

void returnFreedBlocks() {
    ::mallopt(M_MMAP_THRESHOLD, kLarge);
    ::mallopt(M_TRIM_THRESHOLD, kKept);
}

}  // namespace shardscope::desktop
