// Kernels, copies and launches of this process's device, from CUPTI.
//
// One session for the life of the process: subscribed before the first CUDA call, its level
// changed at run time, never finalised (cuptiFinalize stops all threads and has crashed with
// CUDA graphs). CUPTI fills buffers of a fixed pool; a decoder thread fetches them, joins
// launches with kernels and hands spans to the sink.
#pragma once

#include "profiler/collectors/cupti/cupti_api.h"
#include "profiler/collectors/cupti/device_collector.h"
#include "profiler/collectors/cupti/record_clock.h"

#include <chrono>
#include <cstddef>

namespace shardscope::collectors {

struct CuptiOptions {
    /// Each node of a CUDA graph as a kernel; otherwise one span a launch, which is far cheaper.
    bool graphNodes = true;
    /// At most 64; what CUPTI may hold before it drops records. A thread's buffer comes back when
    /// it is full: a small one soon.
    std::size_t buffers = 64;
    std::size_t bufferBytes = std::size_t{512} << 10;
    std::chrono::milliseconds flushPeriod{1000};
    std::chrono::milliseconds idlePeriod{200};  ///< between flushes of an idle device
    std::chrono::milliseconds pollPeriod{50};   ///< how often full buffers are looked for
    cupti::ClockSample (*readClocks)() = &cupti::readClocks;
};

/// Before the first CUDA call of the process and after any fork(). `api` and `sink` outlive the
/// collector, `api` all threads that annotate. kNever: neither collector nor diagnostic.
/// Diagnostics: "cupti-version", "cupti-busy", "cupti-unavailable"; without a collector the
/// engine's own ranges, timed by CUDA events, are what is known of the device.
[[nodiscard]] DeviceCollectorStart startCuptiCollector(CuptiApi& api, capture::DeviceLevel level,
                                                       capture::DeviceSink& sink,
                                                       const CuptiOptions& options = {});

}  // namespace shardscope::collectors
