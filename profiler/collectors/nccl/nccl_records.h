// What the NCCL profiler plugin saw, as plain values. Text pointers are NCCL's static literals.
#pragma once

#include "profiler/capture/device_annotation.h"

#include <array>
#include <cstdint>
#include <string>

namespace shardscope::collectors {

enum class NcclRecordKind : std::uint8_t {
    kApi = 1,           ///< a collective or point-to-point call, from entry to return
    kLaunch = 2,        ///< one kernel launch, from before to after the driver call
    kCollective = 3,    ///< one collective was put into a kernel
    kPointToPoint = 4,  ///< one send or receive was put into a kernel
    kChannel = 5,       ///< one channel of a kernel, by the device's clock
};

struct NcclRecord {
    NcclRecordKind kind = NcclRecordKind::kApi;
    bool graphCaptured = false;      ///< recorded into a CUDA graph: the kernel runs at each replay
    std::uint8_t channels = 0;       ///< kChannel: which one
    std::uint64_t communicator = 0;  ///< NCCL's hash, the same on every rank; 0: not known
    std::int32_t ranks = 0;          ///< of the communicator; 0: not known
    std::int32_t peer = -1;          ///< root of a collective, peer of a point-to-point
    std::uint64_t launch = 0;        ///< pushed on AnnotationStack::kNcclLaunch; 0: not known
    capture::CollectiveAnnotation own;  ///< the engine's number
    std::uint64_t sequence = 0;         ///< NCCL's, by function; of sends by peer and direction
    const char* function = nullptr;     ///< "AllReduce"
    const char* dataType = nullptr;     ///< "ncclBfloat16"
    const char* algorithm = nullptr;    ///< "RING"
    const char* protocol = nullptr;     ///< "LL128"
    std::uint64_t count = 0;  ///< as NCCL gives it: ncclPayloadBytes() knows what it means
    const char* callDataType = nullptr;  ///< the caller's; null: the call was not seen
    std::uint64_t callCount = 0;         ///< the caller's, in elements
    std::int64_t startNs = 0;            ///< CLOCK_MONOTONIC; kChannel: device clock
    std::int64_t endNs = 0;              ///< 0: never left
};

struct NcclCommunicator {
    std::uint64_t id = 0;  ///< NCCL's hash
    std::string name;      ///< "dp0"
    std::int32_t nodes = 0;
    std::int32_t ranks = 0;
    std::int32_t rank = -1;
};

/// All since the start of the process.
struct NcclCounts {
    std::uint64_t records = 0;             ///< handed to the drain
    std::uint64_t dropped = 0;             ///< rings full
    std::uint64_t handlesRefused = 0;      ///< handle slot busy
    std::uint64_t staleStops = 0;          ///< stopped twice, or long after
    std::uint64_t ignored = 0;             ///< kinds that are not recorded
    std::uint64_t foreign = 0;             ///< of these, from another process
    std::uint64_t withoutContext = 0;      ///< events of a communicator that is not ours
    std::uint64_t foreignThreadStops = 0;  ///< launches that ended on another thread
};

}  // namespace shardscope::collectors
