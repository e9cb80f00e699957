// Turns what the engine reports into events of the capture session and messages of the outbox.
//
// On a GPU the step thread only queues work: phases and steps are then timed by marks on the
// device's timeline and told once the device has passed them.
//
// Lanes of a rank (storage/model/lanes.h): steps with their stretches, phases with the waits among
// them, operators, communication in the world and in groups, resident set and CPU time.
#pragma once

#include "engine/control/observer.h"
#include "engine/run/config/run_config.h"
#include "engine/run/theory/theory.h"
#include "engine/worker/collective_recorder.h"
#include "engine/worker/device_timeline.h"
#include "engine/worker/event_names.h"
#include "engine/worker/outbox.h"
#include "engine/worker/step_level.h"
#include "profiler/capture/capture_session.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <variant>

namespace shardscope::worker {

class RecordingObserver final : public control::Observer {
public:
    RecordingObserver(const run::RunConfig& config, RankId rank, capture::CaptureSession& session,
                      Outbox& outbox);

    void stepBegin(std::int32_t step) override;
    void stepEnd(const control::StepReport& report) override;
    void phaseBegin(Phase phase, LayerIndex layer) override;
    void phaseEnd(const control::PhaseReport& report) override;
    void collective(const control::CollectiveReport& report) override {
        m_collectives.report(report);
    }
    void buffer(const control::BufferReport& report) override;
    void metric(control::Metric metric, std::int32_t step, double value) override;

    /// From now on phases and steps are those of the device; before the first. `timeline` outlives
    /// the observer's use of it.
    void timeOn(DeviceTimeline& timeline) { m_timeline = &timeline; }
    /// Tells what the device has passed since; all that was marked when `everything`, which waits
    /// for the device. Outbox thread, or the step thread at the end. Throws DeviceError.
    void tellPassed(bool everything);

    /// Events and lanes of collectives.
    [[nodiscard]] CollectiveRecorder& collectives() { return m_collectives; }

    /// Memory that peaked on the device during a step; step thread.
    void readDevicePeakBy(std::function<std::int64_t()> reader) {
        m_devicePeak = std::move(reader);
    }

    /// Level in force from the next event on, why it is less than the run's where it is, and that
    /// of the step after: what is fetched ahead for it belongs to it. Step thread, between steps.
    void setLevel(CaptureLevel level, DetailReason reason, CaptureLevel next) {
        m_level.decide(level, reason, next);
    }

    /// Resident set and CPU time as counters; outbox thread.
    void sampleUsage();

private:
    /// A phase that has ended, with all that telling it needs.
    struct EndedPhase {
        control::PhaseReport report;
        StepIndex step;
        control::DeviceEvent begin, end;  ///< on a device
    };
    struct EndedStep {
        control::StepReport report;
        run::StepDone done;  ///< complete but for start, end and exposed communication
        control::DeviceEvent begin, end;
    };
    using Ended = std::variant<EndedPhase, EndedStep>;

    void tell(const EndedPhase& phase);
    void tell(EndedStep& step);
    void closeStretch(std::int64_t nowNs, StepIndex step);
    void span(LaneId lane, StringId name, std::int64_t startNs, std::int64_t endNs,
              const EndedPhase& phase, std::uint8_t depth);
    [[nodiscard]] bool passed(const Ended& ended, bool everything);
    void readMarks(Ended& ended);
    void queue(Ended ended);

    const run::RunConfig m_config;
    const RankId m_rank;
    capture::CaptureSession& m_session;
    Outbox& m_outbox;
    const theory::StepContents m_contents;
    const EventNames m_names;
    StepLevel m_level;
    CollectiveRecorder m_collectives;
    std::atomic<std::int64_t> m_bufferBytes{0};

    DeviceTimeline* m_timeline = nullptr;
    std::function<std::int64_t()> m_devicePeak;

    // Step thread.
    std::int64_t m_stepCpuNs = 0;
    control::DeviceEvent m_phaseMark, m_stepMark;

    // Whichever thread tells: the step thread, or on a device the outbox thread.
    Stretch m_stretch = Stretch::kNone;
    std::int64_t m_stretchStartNs = 0;
    std::int64_t m_blockedNs = 0;

    std::mutex m_mutex;
    std::deque<Ended> m_ended;  // guarded by m_mutex; on a device only
    std::mutex m_telling;       // held while tellPassed() runs
};

}  // namespace shardscope::worker
