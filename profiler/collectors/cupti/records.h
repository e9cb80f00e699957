// What CUPTI recorded, free of CUPTI's layouts.
//
// Times are CLOCK_REALTIME nanoseconds as CUPTI gives them, not yet checked. Names are numbered
// by KernelNames.
#pragma once

#include "profiler/capture/device_annotation.h"
#include "profiler/collectors/cupti/cupti_api.h"

#include <array>
#include <cstdint>
#include <variant>

namespace shardscope::collectors::cupti {

struct Interval {
    std::int64_t start = 0;
    std::int64_t end = 0;
    friend bool operator==(const Interval&, const Interval&) = default;
};

struct StreamKey {
    std::uint32_t context = 0;
    std::uint32_t stream = 0;
    friend auto operator<=>(const StreamKey&, const StreamKey&) = default;
};

/// Of everything that runs on a device.
struct DeviceWork {
    Interval time;
    StreamKey stream;
    std::uint32_t correlation = 0;  ///< shared with the call that launched it; 0: unknown
    std::uint64_t graphNode = 0;    ///< 0: not launched as part of a graph
};

struct KernelRecord {
    DeviceWork work;
    std::uint32_t name = 0;  ///< in KernelNames
    std::array<std::int32_t, 3> grid{};
    std::array<std::int32_t, 3> block{};
    std::uint16_t registers = 0;   ///< per thread
    std::int64_t sharedBytes = 0;  ///< static and dynamic, per block
};

struct CopyRecord {
    DeviceWork work;
    std::uint64_t bytes = 0;
    std::uint8_t copyKind = 0;  ///< CUpti_ActivityMemcpyKind
    std::uint8_t from = 0;      ///< CUpti_ActivityMemoryKind
    std::uint8_t to = 0;
    bool peer = false;
    std::uint32_t fromDevice = 0;  ///< of a peer copy
    std::uint32_t toDevice = 0;
};

struct SetRecord {
    DeviceWork work;
    std::uint64_t bytes = 0;
};

/// A whole graph launch, when graphs are traced as one.
struct GraphRecord {
    DeviceWork work;
    std::uint32_t graph = 0;
};

struct CallRecord {
    Interval time;
    CallDomain domain = CallDomain::kRuntime;
    std::uint32_t id = 0;
    std::uint32_t thread = 0;  ///< gettid
    std::uint32_t correlation = 0;
    std::uint32_t result = 0;  ///< cudaError_t or CUresult
};

/// What was pushed when the call with this correlation was made.
struct ExternalRecord {
    capture::AnnotationStack stack = capture::AnnotationStack::kContext;
    std::uint64_t id = 0;
    std::uint32_t correlation = 0;
};

enum class SyncType : std::uint8_t { kUnknown, kEvent, kStreamWait, kStream, kContext };

inline constexpr std::uint64_t kNoSyncId = ~std::uint64_t{0};

struct SyncRecord {
    Interval time;
    SyncType type = SyncType::kUnknown;
    std::uint32_t correlation = 0;
    std::uint32_t context = 0;
    std::uint32_t stream = 0;             ///< ~0: none
    std::uint32_t event = 0;              ///< ~0: none
    std::uint64_t eventSync = kNoSyncId;  ///< which recording of the event
};

struct EventRecord {
    StreamKey stream;
    std::uint32_t event = 0;
    std::uint64_t eventSync = kNoSyncId;
};

struct AllocationRecord {
    std::int64_t time = 0;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    bool allocates = false;
    bool onDevice = false;
};

struct OverheadRecord {
    Interval time;
    std::uint32_t kind = 0;  ///< CUpti_ActivityOverheadKind
};

using Record =
    std::variant<KernelRecord, CopyRecord, SetRecord, GraphRecord, CallRecord, ExternalRecord,
                 SyncRecord, EventRecord, AllocationRecord, OverheadRecord>;

}  // namespace shardscope::collectors::cupti
