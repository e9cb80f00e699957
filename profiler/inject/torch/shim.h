// Shim of one PyTorch version: reports its operators, collectives and CPU blocks through
// inject_api.h.
//
// Compiled once per minor version and string ABI against the headers of that version's wheel,
// always with -DNDEBUG: RecordFunction has another layout without it. Links nothing of PyTorch but
// names it, since the program has it loaded already.
#pragma once

#include "profiler/inject/inject_api.h"

#include <atomic>
#include <cstdint>

namespace shardscope::shim {

/// The table of shardscope_torch_start(); set before anything is observed.
extern const ShardscopeApi* g_api;
extern std::atomic<std::int32_t> g_level;

inline bool levelIs(std::int32_t least) {
    return g_level.load(std::memory_order_relaxed) >= least;
}

/// Observes all collectives from now on, at every level: what cannot be undone while other threads
/// run is not undone. Once.
void observeCollectives();
/// The same of waits of functional collectives, at level light. With the collectives.
void observeFunctionalWaits();

/// Puts an allocator before PyTorch's that reports blocks allocated at level full. Once.
void observeMemory();
/// After fork(): other threads are gone, and with them what they had locked.
void forgetMemory() noexcept;

}  // namespace shardscope::shim
