// A correlator with a sink that keeps all, and short ways to make records.
//
// The records' clock runs kEpoch ahead of the recording's, so that what is drawn for a record
// at kEpoch + t starts at t.
#pragma once

#include "profiler/collectors/cupti/correlator.h"
#include "tests/profiler/collectors/cupti/kept_device_events.h"

#include <gtest/gtest.h>

namespace shardscope::collectors::cupti {

inline constexpr std::int64_t kEpoch = 1'700'000'000'000'000'000;

inline Interval interval(std::int64_t start, std::int64_t end) {
    return {kEpoch + start, kEpoch + end};
}

struct CorrelatorFixture {
    explicit CorrelatorFixture(const CorrelatorLimits& limits = {})
        : correlator(sink, clock, names, nodes, limits) {}

    KernelRecord kernel(std::uint32_t correlation, std::int64_t start, std::int64_t end,
                        const char* name = "gemm", std::uint32_t stream = 7,
                        std::uint64_t graphNode = 0) {
        KernelRecord record;
        record.work = {interval(start, end), {1, stream}, correlation, graphNode};
        record.name = names.add(name);
        record.grid = {8, 1, 1};
        record.block = {128, 1, 1};
        return record;
    }
    static CopyRecord copy(std::uint32_t correlation, std::int64_t start, std::int64_t end,
                           std::uint32_t stream = 7) {
        CopyRecord record;
        record.work = {interval(start, end), {1, stream}, correlation, 0};
        record.bytes = 4096;
        record.copyKind = 1;  // host to device
        record.from = 2;
        record.to = 3;
        return record;
    }
    static CallRecord call(std::uint32_t correlation, std::int64_t start, std::int64_t end,
                           std::uint32_t thread = 100, std::uint32_t id = 211,
                           CallDomain domain = CallDomain::kRuntime) {
        return {interval(start, end), domain, id, thread, correlation, 0};
    }
    static ExternalRecord context(std::uint32_t correlation,
                                  const capture::LaunchContext& context) {
        return {capture::AnnotationStack::kContext, capture::pack(context), correlation};
    }
    static ExternalRecord ncclLaunch(std::uint32_t correlation, std::uint64_t launch) {
        return {capture::AnnotationStack::kNcclLaunch, launch, correlation};
    }
    capture::LaunchContext during(const char* operatorName, std::int32_t step = 3,
                                  std::int16_t layer = 2, Phase phase = Phase::kForward) {
        return {{step}, {layer}, phase, sink.intern(operatorName)};
    }
    const SpanEvent& only(const std::string& lane) {
        const auto found = sink.on(lane);
        EXPECT_EQ(found.size(), 1u) << lane;
        static const SpanEvent none;
        if (found.empty()) return none;
        m_last = found[0];
        return m_last;
    }
    std::string nameOf(const SpanEvent& span) const { return sink.text(span.name); }
    std::string argumentsOf(const SpanEvent& span) const { return sink.text(span.arguments); }

    KeptDeviceEvents sink;
    RecordClock clock{{kEpoch, 0, 0, 50}};
    KernelNames names;
    GraphNodes nodes;
    Correlator correlator;

private:
    SpanEvent m_last;
};

}  // namespace shardscope::collectors::cupti
