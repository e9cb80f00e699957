// A sink that keeps everything. One decoder thread; read it when that is done or flushed.
#pragma once

#include "profiler/capture/device_sink.h"
#include "storage/model/recording_clock.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace shardscope::collectors {

class KeptDeviceEvents final : public capture::DeviceSink {
public:
    struct Lane {
        LaneRole role;
        std::string name;
        std::string unit;
    };

    RecordingClock clock{0};
    Timestamp at(std::int64_t hostNs) const override { return clock.at(hostNs); }
    StringId intern(std::string_view text) override {
        const auto found = std::find(m_texts.begin(), m_texts.end(), text);
        const auto index = static_cast<std::uint32_t>(found - m_texts.begin());
        if (index == m_texts.size()) m_texts.emplace_back(text);
        return {index};
    }
    std::string text(StringId id) const override {
        return id.value < m_texts.size() ? m_texts[id.value] : std::string();
    }
    void declareLane(LaneId lane, LaneRole role, const std::string& name,
                     const std::string& unit) override {
        ++declarations;
        lanes[lane] = {role, name, unit};
    }
    void spans(const std::vector<SpanEvent>& fresh) override {
        kept.insert(kept.end(), fresh.begin(), fresh.end());
    }
    void counters(const std::vector<CounterEvent>& fresh) override {
        points.insert(points.end(), fresh.begin(), fresh.end());
    }
    void collectiveKernel(const capture::CollectiveKernel& kernel) override {
        collectives.push_back(kernel);
    }
    void diagnostic(const Diagnostic& diagnostic) override { diagnostics.push_back(diagnostic); }

    [[nodiscard]] std::vector<SpanEvent> on(const std::string& lane) const {
        std::vector<SpanEvent> found;
        for (const SpanEvent& span : kept) {
            if (lanes.at(span.lane).name == lane) found.push_back(span);
        }
        return found;
    }
    [[nodiscard]] std::vector<std::string> laneNames() const {
        std::vector<std::string> names;
        for (const auto& [id, lane] : lanes) names.push_back(lane.name);
        return names;
    }

    std::map<LaneId, Lane> lanes;
    int declarations = 0;
    std::vector<SpanEvent> kept;
    std::vector<CounterEvent> points;
    std::vector<capture::CollectiveKernel> collectives;
    std::vector<Diagnostic> diagnostics;

private:
    std::vector<std::string> m_texts{""};
};

}  // namespace shardscope::collectors
