// One subscription to CUPTI: what is enabled, and the buffers it fills.
#pragma once

#include "profiler/capture/device_sink.h"
#include "profiler/collectors/cupti/buffer_pool.h"
#include "profiler/collectors/cupti/cupti_api.h"
#include "profiler/collectors/cupti/graph_nodes.h"
#include "storage/model/mutex.h"

#include <atomic>
#include <optional>
#include <string>
#include <vector>

namespace shardscope::collectors::cupti {

class Session final : public CuptiClient {
public:
    struct Settings {
        bool graphNodes = true;
        std::size_t buffers;
        std::size_t bufferBytes;
    };
    Session(CuptiApi& api, const Settings& settings);
    /// Switches everything off and unsubscribes.
    ~Session() override;

    /// Why there can be no session, or nothing. Enables what `level` asks for.
    [[nodiscard]] std::optional<Diagnostic> start(capture::DeviceLevel level);
    /// Any thread. Above the level of the start: that level.
    void setLevel(capture::DeviceLevel level);
    [[nodiscard]] capture::DeviceLevel level() const {
        return m_level.load(std::memory_order_relaxed);
    }
    /// What could not be enabled, in words, once.
    [[nodiscard]] std::vector<std::string> takeRefused();

    /// After start().
    BufferPool& pool() { return *m_pool; }
    [[nodiscard]] const GraphNodes& graphNodes() const { return m_graphNodes; }
    /// Launches that were traced and put a kernel into a graph instead of onto a stream.
    [[nodiscard]] std::uint64_t capturedLaunches() const {
        return m_capturedLaunches.load(std::memory_order_relaxed);
    }

    std::uint8_t* takeBuffer(std::size_t& bytes) noexcept override;
    void completeBuffer(std::uint8_t* buffer, std::size_t validBytes) noexcept override;
    void graphNodeCreated(std::uint64_t node, bool kernel) noexcept override;
    void graphNodeCloned(std::uint64_t original, std::uint64_t node) noexcept override;

private:
    [[nodiscard]] std::optional<Diagnostic> subscribe();
    [[nodiscard]] std::optional<Diagnostic> configure();
    void apply(capture::DeviceLevel from, capture::DeviceLevel to) SHARDSCOPE_REQUIRES(m_mutex);
    void applyKinds(capture::DeviceLevel from, capture::DeviceLevel to)
        SHARDSCOPE_REQUIRES(m_mutex);
    void applyCalls(capture::DeviceLevel from, capture::DeviceLevel to)
        SHARDSCOPE_REQUIRES(m_mutex);
    [[nodiscard]] bool tracesNodes() const {
        return m_settings.graphNodes && m_highest >= capture::DeviceLevel::kLaunches;
    }
    void note(int code, const std::string& what) SHARDSCOPE_REQUIRES(m_mutex);

    CuptiApi& m_api;
    const Settings m_settings;
    std::optional<BufferPool> m_pool;  ///< made once it is known that CUPTI is ours
    GraphNodes m_graphNodes;
    std::atomic<std::uint64_t> m_capturedLaunches{0};
    bool m_subscribed = false;
    std::atomic<capture::DeviceLevel> m_level{capture::DeviceLevel::kIdle};
    capture::DeviceLevel m_highest = capture::DeviceLevel::kIdle;
    Mutex m_mutex;  ///< one level change at a time; no callback takes it
    int m_kernelsCode SHARDSCOPE_GUARDED_BY(m_mutex) = kCuptiSuccess;
    std::vector<std::string> m_refused SHARDSCOPE_GUARDED_BY(m_mutex);
};

}  // namespace shardscope::collectors::cupti
