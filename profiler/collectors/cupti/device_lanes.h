// Lanes of a device, declared when something is first put on them.
//
// A stream has up to three: its kernels (role compute), its collectives' kernels
// (communication), its copies and sets (copy). What a lane shows thus never depends on what
// happened to come first on a stream that carries several. Decoder thread.
#pragma once

#include "profiler/capture/device_sink.h"
#include "profiler/collectors/cupti/record_reader.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace shardscope::collectors::cupti {

enum class StreamUse : std::uint8_t { kKernels, kCollectives, kCopies };

class DeviceLanes {
public:
    explicit DeviceLanes(capture::DeviceSink& sink) : m_sink(sink) {}

    LaneId stream(StreamKey key, StreamUse use);
    LaneId calls(std::uint32_t thread);  ///< launch and waiting calls of a host thread
    LaneId waits(std::uint32_t thread);  ///< what it waited for; thread 0: not known
    LaneId overhead();                   ///< the tracer's own work
    LaneId allocations();                ///< counter: bytes taken from the driver

private:
    enum class HostLane : std::uint8_t { kCalls, kWaits, kOverhead };
    LaneId host(HostLane lane, std::uint32_t thread);
    LaneId declare(LaneId lane, LaneRole role, const std::string& name,
                   const std::string& unit = {});

    capture::DeviceSink& m_sink;
    std::map<std::pair<StreamKey, StreamUse>, LaneId> m_streams;
    std::map<std::pair<HostLane, std::uint32_t>, LaneId> m_host;
    std::uint32_t m_firstContext = 0;
    bool m_allocationsDeclared = false;
};

}  // namespace shardscope::collectors::cupti
