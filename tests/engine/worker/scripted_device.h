// A device whose time and progress a test sets by hand: one thread, no clock.
#pragma once

#include "engine/control/device_runtime.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <set>

namespace shardscope::worker {

/// An event on the compute stream lies where the queued work ended when it was recorded, and is
/// reached when the device has come there. Other streams are idle.
class ScriptedDevice : public control::DeviceRuntime {
public:
    /// Queues work on the compute stream.
    void work(std::int64_t durationNs) { m_queuedNs = end() + durationNs; }
    /// The device gets on with what is queued.
    void advance(std::int64_t durationNs) {
        m_doneNs = std::min(m_queuedNs, m_doneNs + durationNs);
    }
    void finish() { m_doneNs = std::max(m_doneNs, m_queuedNs); }
    /// The host is busy, and the device does what is queued, or nothing.
    void hostTakes(std::int64_t durationNs) { m_doneNs += durationNs; }
    void breakDown() { m_broken = true; }
    [[nodiscard]] std::int64_t queuedNs() const { return m_queuedNs; }
    [[nodiscard]] std::size_t liveEvents() const { return m_live.size(); }
    /// Events on the compute stream so far.
    [[nodiscard]] std::size_t recorded() const { return m_recorded; }

    void use() override {}
    control::DeviceStream currentStream() override { return {this}; }
    control::DeviceStream createStream(bool) override { return {}; }
    control::DeviceEvent createEvent() override {
        Event& event = m_events.emplace_back();
        m_live.insert(&event);
        return {&event};
    }
    void destroy(control::DeviceEvent event) override { m_live.erase(event.handle); }
    void record(control::DeviceEvent event, control::DeviceStream stream) override {
        const bool compute = stream == currentStream();
        if (compute) ++m_recorded;
        at(event).timeNs = compute ? end() : m_doneNs;
    }
    void wait(control::DeviceStream, control::DeviceEvent) override {}
    bool reached(control::DeviceEvent event) override {
        if (m_broken) throw control::DeviceError(control::DeviceFault::kLost, "fell off the bus");
        return at(event).timeNs <= m_doneNs;
    }
    void synchronize(control::DeviceEvent event) override {
        m_doneNs = std::max(m_doneNs, at(event).timeNs);
    }
    void synchronizeAll() override { finish(); }
    std::int64_t elapsedNs(control::DeviceEvent from, control::DeviceEvent to) override {
        return at(to).timeNs - at(from).timeNs;
    }
    control::DeviceMemory memory() override { return {}; }

private:
    struct Event {
        std::int64_t timeNs = 0;
    };
    /// Of what is queued; what comes then starts at once on an idle device.
    [[nodiscard]] std::int64_t end() const { return std::max(m_queuedNs, m_doneNs); }
    static Event& at(control::DeviceEvent event) { return *static_cast<Event*>(event.handle); }

    std::deque<Event> m_events;  // stay where they are
    std::set<void*> m_live;
    std::int64_t m_queuedNs = 0;
    std::int64_t m_doneNs = 0;
    std::size_t m_recorded = 0;
    bool m_broken = false;
};

}  // namespace shardscope::worker
