// A device whose time and progress a test sets by hand: one thread, no clock.
#pragma once

#include "engine/control/device_runtime.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace shardscope::worker {

/// An event on the compute stream lies where the queued work ended when it was recorded, and is
/// reached when the device has come there. Other streams are idle.
class ScriptedDevice : public control::DeviceRuntime {
public:
    /// Queues work on the compute stream, or puts it into the graph that is being captured.
    void work(std::int64_t durationNs) {
        if (m_captured) {
            m_captured->durationNs += durationNs;
        } else {
            m_queuedNs = end() + durationNs;
        }
    }
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
    void computeOn(control::DeviceStream) override {}
    void releaseCachedMemory() override {}
    void beginCapture() override { m_captured.emplace(); }
    std::unique_ptr<control::DeviceGraph> endCapture() override {
        auto graph = std::make_unique<Graph>(*this, std::move(*m_captured));
        m_captured.reset();
        return graph;
    }
    void abandonCapture() noexcept override { m_captured.reset(); }
    void recordInGraph(control::DeviceEvent event, control::DeviceStream) override {
        m_captured->events.emplace_back(&at(event), m_captured->durationNs);
    }

private:
    struct Event {
        std::int64_t timeNs = 0;
        std::deque<std::int64_t> replayedNs;  ///< of launches that have not come to it yet
    };
    struct Captured {
        std::int64_t durationNs = 0;
        std::vector<std::pair<Event*, std::int64_t>> events;  ///< and when, from the launch
    };
    /// Its events keep their last times until the device comes to them.
    class Graph final : public control::DeviceGraph {
    public:
        Graph(ScriptedDevice& device, Captured captured)
            : m_device(device), m_captured(std::move(captured)) {}
        void launch() override {
            const std::int64_t start = m_device.end();
            for (const auto& [event, afterNs] : m_captured.events)
                event->replayedNs.push_back(start + afterNs);
            m_device.m_queuedNs = start + m_captured.durationNs;
        }

    private:
        ScriptedDevice& m_device;
        const Captured m_captured;
    };

    /// Of what is queued; what comes then starts at once on an idle device.
    [[nodiscard]] std::int64_t end() const { return std::max(m_queuedNs, m_doneNs); }
    Event& at(control::DeviceEvent handle) {
        Event& event = *static_cast<Event*>(handle.handle);
        for (; !event.replayedNs.empty() && event.replayedNs.front() <= m_doneNs;
             event.replayedNs.pop_front())
            event.timeNs = event.replayedNs.front();
        return event;
    }

    std::deque<Event> m_events;  // stay where they are
    std::set<void*> m_live;
    std::int64_t m_queuedNs = 0;
    std::int64_t m_doneNs = 0;
    std::size_t m_recorded = 0;
    std::optional<Captured> m_captured;
    bool m_broken = false;
};

}  // namespace shardscope::worker
