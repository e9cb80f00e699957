// What the engine asks of an accelerator's runtime: streams, events, memory figures.
//
// Vendor-free, so that everything above it also runs against a fake. The CUDA module
// (engine/worker/cuda_module.h) implements it; "current" means the calling thread's. Streams
// order work on the device: nothing here blocks the caller but what synchronizes. Errors are thrown
// as DeviceError. Any thread.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace shardscope::control {

enum class DeviceFault : std::uint8_t {
    kOther,
    kOutOfMemory,
    kLost,  ///< the device fell off the bus, an Xid, an illegal access: the process must end
};

class DeviceError : public std::runtime_error {
public:
    DeviceError(DeviceFault fault, const std::string& what)
        : std::runtime_error(what), m_fault(fault) {}
    [[nodiscard]] DeviceFault fault() const { return m_fault; }

private:
    DeviceFault m_fault;
};

/// cudaStream_t
struct DeviceStream {
    void* handle = nullptr;
    friend bool operator==(DeviceStream, DeviceStream) = default;
};

/// cudaEvent_t, with timing
struct DeviceEvent {
    void* handle = nullptr;
};

struct DeviceMemory {
    std::int64_t freeBytes = 0;       ///< as the driver sees it
    std::int64_t totalBytes = 0;      ///< of the device
    std::int64_t allocatedBytes = 0;  ///< tensors of this process
    std::int64_t reservedBytes = 0;   ///< by this process's caching allocator
};

class DeviceRuntime {
public:
    virtual ~DeviceRuntime() = default;

    /// Makes the device the calling thread's, for libraries that ask which one that is. The calls
    /// below need it not.
    virtual void use() = 0;

    /// Where tensor operators of the calling thread go.
    virtual DeviceStream currentStream() = 0;
    /// Lives as long as the process. High priority: its kernels start before others that wait.
    virtual DeviceStream createStream(bool highPriority) = 0;

    virtual DeviceEvent createEvent() = 0;
    virtual void destroy(DeviceEvent event) = 0;
    virtual void record(DeviceEvent event, DeviceStream stream) = 0;
    /// What is queued on `stream` from now on starts after `event`.
    virtual void wait(DeviceStream stream, DeviceEvent event) = 0;
    /// Whether everything before the event is done; throws what went wrong on the device.
    virtual bool reached(DeviceEvent event) = 0;
    virtual void synchronize(DeviceEvent event) = 0;
    /// Blocks until everything that was queued, on any stream, is done.
    virtual void synchronizeAll() = 0;
    /// Between two events that were reached; resolution about 0.5 us.
    virtual std::int64_t elapsedNs(DeviceEvent from, DeviceEvent to) = 0;

    virtual DeviceMemory memory() = 0;
};

}  // namespace shardscope::control
