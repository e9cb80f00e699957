// Turns CUPTI's activity buffers into records. The only file that knows CUPTI's layouts.
//
// Layouts change with each minor release and a cast to the wrong one misreads in silence, so
// call layoutsKnown() with the version of the library that was loaded before reading anything.
#pragma once

#include "profiler/capture/device_annotation.h"
#include "profiler/collectors/cupti/cupti_api.h"
#include "profiler/collectors/cupti/kernel_names.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

namespace shardscope::collectors::cupti {

// What CUPTI recorded, free of CUPTI's layouts.
//
// Times are CLOCK_REALTIME nanoseconds as CUPTI gives them, not yet checked. Names are numbered
// by KernelNames.

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

/// CUDA 13.0 Update 1: the first one without the defects of 13.0 (cuptiGetVersion()).
inline constexpr std::uint32_t kCuptiVersion = 130001;
[[nodiscard]] constexpr bool layoutsKnown(std::uint32_t version) {
    return version == kCuptiVersion;
}

struct ReadCounts {
    std::uint64_t records = 0;  ///< walked over, of any kind
    std::uint64_t unknown = 0;  ///< of a kind that is not read here
    std::uint64_t broken = 0;   ///< buffers CUPTI could not walk to their end
};

/// Decoder thread. Keeps references to both.
class RecordReader {
public:
    RecordReader(CuptiApi& api, KernelNames& names) : m_api(api), m_names(names) {}

    /// Appends what the buffer holds. Nothing points into it afterwards; memory that CUPTI
    /// attached to records is freed.
    void read(std::uint8_t* buffer, std::size_t validBytes, std::vector<Record>& records);
    [[nodiscard]] const ReadCounts& counts() const { return m_counts; }

private:
    bool append(void* activity, std::vector<Record>& records);

    CuptiApi& m_api;
    KernelNames& m_names;
    ReadCounts m_counts;
};

}  // namespace shardscope::collectors::cupti
