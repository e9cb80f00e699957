// What the engine asks of an accelerator's runtime: streams, events, memory figures.
//
// Vendor-free, so that everything above it also runs against a fake. The CUDA module
// (engine/worker/cuda_module.h) implements it; "current" means the calling thread's. Streams
// order work on the device: nothing here blocks the caller but what synchronizes. Errors are thrown
// as DeviceError. Any thread.
#pragma once

#include <cstdint>
#include <memory>
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

/// Work that was captured, launched as one. Goes when it does not run.
class DeviceGraph {
public:
    virtual ~DeviceGraph() = default;
    /// Queues all of it on the current stream. The work that came from other streams runs beside it
    /// on streams of the graph's own, after what this one holds and before what it gets next.
    virtual void launch() = 0;
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
    /// From now on they go to `stream`, after all that was queued anywhere. At first they go to the
    /// default stream, which cannot be captured.
    virtual void computeOn(DeviceStream stream) = 0;

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
    /// Memory that the caching allocator keeps for tensors to come goes back to the device.
    virtual void releaseCachedMemory() = 0;

    // Graphs. What a capture allocates comes from memory that belongs to the graphs of the process:
    // where a captured tensor lies, nothing else is put until those graphs are gone.

    /// From now on the current stream runs nothing: what it is given becomes part of a graph, and
    /// so does what another stream is given once it waits for an event recorded here. Until the end
    /// the calling thread may ask or wait for nothing; other threads may, and for other events.
    virtual void beginCapture() = 0;
    /// Every stream that took part has to be waited for by the first one. When it throws the
    /// capture goes on: abandon it.
    virtual std::unique_ptr<DeviceGraph> endCapture() = 0;
    /// Ends a capture that has failed.
    virtual void abandonCapture() noexcept = 0;
    /// Inside a capture: the event is recorded, with its time, by each launch. Until a launch gets
    /// there the event answers for the launch before, so it is asked after an event behind the
    /// launch was reached. What record() records there is known to the capture alone.
    virtual void recordInGraph(DeviceEvent event, DeviceStream stream) = 0;
};

}  // namespace shardscope::control
