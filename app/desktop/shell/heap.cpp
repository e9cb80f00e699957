#include "app/desktop/shell/heap.h"

#include <malloc.h>

namespace shardscope::desktop {
namespace {

/// The GUI's, which must not wait, and two for those that read.
constexpr int kHeaps = 3;

}  // namespace

void shareHeaps() {
    ::mallopt(M_ARENA_MAX, kHeaps);
}

}  // namespace shardscope::desktop
