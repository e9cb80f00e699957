// An observer that keeps what collectives report; any thread.
#pragma once

#include "engine/control/observer.h"

#include <mutex>
#include <vector>

namespace shardscope::test {

class KeptReports final : public control::Observer {
public:
    void stepBegin(std::int32_t) override {}
    void stepEnd(const control::StepReport&) override {}
    void phaseBegin(Phase, LayerIndex) override {}
    void phaseEnd(const control::PhaseReport&) override {}
    void buffer(const control::BufferReport&) override {}
    void metric(control::Metric, std::int32_t, double) override {}
    void collective(const control::CollectiveReport& report) override {
        const std::lock_guard lock(m_mutex);
        reports.push_back(report);
        arrivals.emplace_back(report.arrivalsNs.begin(), report.arrivalsNs.end());
    }
    std::size_t count() {
        const std::lock_guard lock(m_mutex);
        return reports.size();
    }

    std::vector<control::CollectiveReport> reports;
    std::vector<std::vector<std::int64_t>> arrivals;  ///< of each report

private:
    std::mutex m_mutex;
};

}  // namespace shardscope::test
