// Turns what the engine reports into events of the capture session and messages of the outbox.
//
// Lanes of a rank: 0 "step" (coarse ranges), 1 "compute" (phases, waits included), 2
// "operators", 3 "communication", 4 "resident set", 5 "CPU time".
#pragma once

#include "engine/control/observer.h"
#include "engine/control/run_config.h"
#include "engine/theory/theory.h"
#include "engine/worker/outbox.h"
#include "profiler/capture/capture_session.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

namespace shardscope::worker {

inline constexpr LaneId kStepLane{0};
inline constexpr LaneId kComputeLane{1};
inline constexpr LaneId kCommunicationLane{3};
inline constexpr LaneId kResidentSetLane{4};
inline constexpr LaneId kCpuTimeLane{5};

class RecordingObserver final : public control::Observer {
public:
    RecordingObserver(const control::RunConfig& config, RankId rank,
                      capture::CaptureSession& session, Outbox& outbox);

    void stepBegin(std::int32_t step) override;
    void stepEnd(const control::StepReport& report) override;
    void phaseBegin(Phase phase, LayerIndex layer) override;
    void phaseEnd(const control::PhaseReport& report) override;
    void collective(const control::CollectiveReport& report) override;
    void buffer(const control::BufferReport& report) override;
    void metric(control::Metric metric, std::int32_t step, double value) override;

    /// Level in force from the next event on (step thread).
    void setLevel(control::CaptureLevel level) { m_level.store(level); }

    /// Resident set and CPU time as counters; outbox thread.
    void sampleUsage();

private:
    /// Stretches of a step that a person thinks in.
    enum class Stretch : std::uint8_t { kNone, kForward, kHead, kBackward, kOptimizer };
    static Stretch stretchOf(Phase phase, Stretch current);
    void closeStretch(std::int64_t nowNs);
    void span(LaneId lane, StringId name, std::int64_t startNs, std::int64_t endNs,
              const control::PhaseReport& report, std::uint8_t depth);
    [[nodiscard]] bool takes(control::CaptureLevel level) const { return m_level.load() >= level; }

    const control::RunConfig m_config;
    const RankId m_rank;
    capture::CaptureSession& m_session;
    Outbox& m_outbox;
    const theory::StepContents m_contents;
    std::atomic<control::CaptureLevel> m_level;
    std::atomic<std::int64_t> m_bufferBytes{0};

    std::array<StringId, 16> m_phaseNames{};     ///< by Phase
    std::array<StringId, 8> m_stretchNames{};    ///< by Stretch
    std::array<StringId, 8> m_operationNames{};  ///< by CollectiveOp
    std::array<StringId, 8> m_causeArguments{};  ///< by Cause
    StringId m_stepName;
    StringId m_algorithm, m_protocol;

    // Step thread.
    Stretch m_stretch = Stretch::kNone;
    std::int64_t m_stretchStartNs = 0;
    std::int64_t m_blockedNs = 0;
    std::int64_t m_stepStartNs = 0;
    std::int64_t m_stepCpuNs = 0;
    bool m_stepWhole = false;  ///< captured at light or more from its beginning
};

}  // namespace shardscope::worker
