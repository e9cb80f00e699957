// Which steps of a run are captured in detail. Pure: every rank decides alike.
#pragma once

#include "storage/model/detail.h"
#include "storage/model/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// Both within.
struct StepSpan {
    std::int32_t first = 0;
    std::int32_t last = 0;
    friend bool operator==(const StepSpan&, const StepSpan&) = default;
};

/// "10-20,500-520,7": steps count from 0, in any order. kUsage with a sentence.
[[nodiscard]] Result<std::vector<StepSpan>> parseStepSpans(std::string_view text);

/// What was asked for while the run goes on: {"command":"capture",...}. Nothing in it: back to
/// the run's own schedule.
struct CaptureChange {
    std::string level;       ///< of all steps from the next on; empty: as `steps` and `every` say
    std::string steps;       ///< as CaptureWish::steps
    std::int32_t every = 0;  ///< as CaptureWish::every
};

/// What a run was started with.
struct CaptureWish {
    CaptureLevel level = CaptureLevel::kFull;
    std::string steps;       ///< steps captured at `level`, others at level steps; empty: all
    std::int32_t every = 0;  ///< and every N-th; 0: none besides
};

class CaptureSchedule {
public:
    /// The run's own.
    [[nodiscard]] static Result<CaptureSchedule> of(const CaptureWish& wish);
    /// After a change; kUsage where it asks for something impossible, as a level that the run was
    /// not started with.
    [[nodiscard]] static Result<CaptureSchedule> of(const CaptureWish& wish,
                                                    const CaptureChange& change);

    /// At which level the step is captured: the run's own, or a lower one.
    [[nodiscard]] CaptureLevel levelOf(std::int32_t step) const;
    /// Why it is a lower one.
    [[nodiscard]] DetailReason reason() const { return m_reason; }

private:
    CaptureLevel m_level = CaptureLevel::kFull;
    DetailReason m_reason = DetailReason::kSchedule;
    bool m_all = true;  ///< no step is left out
    std::vector<StepSpan> m_spans;
    std::int32_t m_every = 0;
};

}  // namespace shardscope
