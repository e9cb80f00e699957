// Where the device tracer's finds go: the rank's capture session, the collectives' join, and
// diagnostics to the recorder.
#pragma once

#include "engine/worker/collective_join.h"
#include "engine/worker/outbox.h"
#include "profiler/capture/capture_session.h"
#include "profiler/capture/device_sink.h"

namespace shardscope::worker {

/// All references outlive it.
class SessionSink final : public capture::DeviceSink {
public:
    SessionSink(capture::CaptureSession& session, CollectiveJoin& join, Outbox& outbox, RankId rank)
        : m_session(session), m_join(join), m_outbox(outbox), m_rank(rank) {}

    [[nodiscard]] Timestamp at(std::int64_t hostNs) const override { return m_session.at(hostNs); }
    StringId intern(std::string_view text) override { return m_session.intern(text); }
    [[nodiscard]] std::string text(StringId id) const override { return m_session.text(id); }
    void declareLane(LaneId lane, LaneRole role, const std::string& name,
                     const std::string& unit) override {
        m_session.declareLane(lane, role, name, unit);
    }
    void spans(const std::vector<SpanEvent>& spans) override { m_session.push(spans); }
    void counters(const std::vector<CounterEvent>& counters) override {
        for (const CounterEvent& counter : counters) m_session.push(counter);
    }
    void collectiveKernel(const capture::CollectiveKernel& kernel) override {
        m_join.kernel(kernel);
    }
    void diagnostic(const Diagnostic& diagnostic) override {
        Diagnostic own = diagnostic;
        own.rank = m_rank;
        m_outbox.post(run::DiagnosticRaised{own});
    }

private:
    capture::CaptureSession& m_session;
    CollectiveJoin& m_join;
    Outbox& m_outbox;
    const RankId m_rank;
};

}  // namespace shardscope::worker
