// CUPTI as its header and its users describe it, with a device whose time a test sets.
//
// Each thread fills buffers of its own. A buffer in which something still runs is kept back unless
// the flush is forced (cupti_activity.h, cuptiActivityFlushAll); then such a kernel has no times.
// Buffers come out of order, the last thread's first. What is switched off while a kernel runs
// learns of that kernel's end when it is switched on again (Kineto, pull request 1105).
#pragma once

#include "tests/profiler/collectors/cupti/fake_cupti.h"

#include <chrono>
#include <condition_variable>
#include <deque>

namespace shardscope::collectors {

class StubbornCupti final : public FakeCupti {
public:
    explicit StubbornCupti(std::size_t recordsABuffer) : m_recordsABuffer(recordsABuffer) {}

    /// A kernel of `thread`, from now on for so long; as the traced kinds are at this moment.
    void launch(std::uint32_t thread, std::uint64_t ns) {
        const std::lock_guard lock(m_mutex);
        if (!m_on) return;
        auto& buffers = m_threads[thread];
        if (buffers.empty() || buffers.back().size() == m_recordsABuffer) buffers.emplace_back();
        const std::uint64_t start = m_nowNs;
        buffers.back().push_back(kernelActivity(0, start, start + ns));
    }
    /// The device's time; from the start of the epoch in nanoseconds.
    void at(std::uint64_t ns) {
        const std::lock_guard lock(m_mutex);
        m_nowNs = ns;
    }
    /// From now on a flush does not return, as when a broken device holds it.
    void hang() { m_hangs = true; }
    void endHang() {
        m_hangs = false;
        m_released.notify_all();
    }

    int setKind(std::uint32_t kind, bool enabled) override {
        if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) switchKernels(enabled);
        return FakeCupti::setKind(kind, enabled);
    }
    int flush(bool forced) override {
        std::vector<Buffer> out;
        {
            std::unique_lock lock(m_mutex);
            m_released.wait(lock, [&] { return !m_hangs; });
            for (auto thread = m_threads.rbegin(); thread != m_threads.rend(); ++thread)
                takeFrom(thread->second, forced, out);
        }
        for (const Buffer& buffer : out) {
            Activities activities;
            for (const auto& kernel : buffer) activities.add(kernel);
            deliver(activities);
        }
        return FakeCupti::flush(forced);
    }

private:
    using Buffer = std::vector<CUpti_ActivityKernel10>;

    [[nodiscard]] bool runs(const CUpti_ActivityKernel10& kernel) const {
        return kernel.end > m_nowNs || kernel.end == kHeld;
    }
    void takeFrom(std::deque<Buffer>& buffers, bool forced, std::vector<Buffer>& out) {
        std::erase_if(buffers, [&](Buffer& buffer) {
            const bool whole = std::none_of(buffer.begin(), buffer.end(),
                                            [&](const auto& kernel) { return runs(kernel); });
            if (!whole && !forced) return false;
            for (auto& kernel : buffer)
                if (runs(kernel)) kernel.start = kernel.end = 0;
            out.push_back(buffer);
            return true;
        });
    }
    void switchKernels(bool enabled) {
        const std::lock_guard lock(m_mutex);
        m_on = enabled;
        for (auto& [thread, buffers] : m_threads) {
            for (Buffer& buffer : buffers) {
                for (auto& kernel : buffer) {
                    if (!enabled && runs(kernel)) kernel.end = kHeld;
                    if (enabled && kernel.end == kHeld) kernel.end = m_nowNs;
                }
            }
        }
    }

    static constexpr std::uint64_t kHeld = ~std::uint64_t{0};
    const std::size_t m_recordsABuffer;
    std::mutex m_mutex;
    std::condition_variable m_released;
    std::atomic<bool> m_hangs{false};
    bool m_on = false;                                      // guarded by m_mutex
    std::uint64_t m_nowNs = 0;                              // guarded by m_mutex
    std::map<std::uint32_t, std::deque<Buffer>> m_threads;  // guarded by m_mutex
};

}  // namespace shardscope::collectors
