// What a step used and what a recording of it must hold: tokens, CPU time, time without a core,
// memory, expected events.
//
// Step thread, but for buffers, which come and go on any.
#pragma once

#include "engine/control/observer.h"
#include "engine/run/config/run_config.h"
#include "engine/run/protocol/messages.h"
#include "engine/run/theory/theory.h"
#include "engine/worker/step_level.h"
#include "profiler/collectors/host/stolen_time.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace shardscope::worker {

class StepAccount {
public:
    /// `level` outlives it.
    StepAccount(const run::RunConfig& config, RankId rank, const StepLevel& level)
        : m_rank(rank),
          m_trains(config.work == run::Work::kTraining),
          m_contents(theory::stepContents(config)),
          m_level(level) {}

    /// Gives the bytes that peaked on the device since its last call; before the first step. The
    /// host's allocator is asked otherwise.
    void readDevicePeakBy(std::function<std::int64_t()> reader) {
        m_devicePeak = std::move(reader);
    }

    void begin();
    /// Of the step that begin() began; complete but for what a StepTeller adds.
    [[nodiscard]] run::StepDone end(const control::StepReport& report);

    /// Bytes of a buffer outside of any allocator that has come, negative: gone. Any thread.
    void addBuffer(std::int64_t bytes) { m_bufferBytes.fetch_add(bytes); }
    [[nodiscard]] std::int64_t bufferBytes() const { return m_bufferBytes.load(); }

private:
    void expect(StepFacts& facts, bool skipped) const;
    void tellWithoutCore(StepFacts& facts, std::int64_t nowNs);

    const RankId m_rank;
    const bool m_trains;  ///< else theory knows nothing of what a step holds
    const theory::StepContents m_contents;
    const StepLevel& m_level;
    std::function<std::int64_t()> m_devicePeak;
    std::atomic<std::int64_t> m_bufferBytes{0};
    std::int64_t m_cpuNs = 0;                        ///< of the process when the step began
    std::optional<collectors::CoreWait> m_coreWait;  ///< of the step thread, from its first step on
    std::optional<std::int64_t> m_waitedNs;          ///< for a core when the step began
    collectors::StolenTime m_stolen;
};

}  // namespace shardscope::worker
