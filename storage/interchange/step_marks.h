// Which step an event of a foreign trace belongs to: the one that was under way on the host when it
// began, or, of device work, when its launch did. One thread.
#pragma once

#include "storage/model/events.h"
#include "storage/model/ids.h"
#include "storage/model/step_names.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

namespace shardscope::interchange {

class StepMarks {
public:
    struct Mark {
        StepIndex step;
        TimeRange range;
    };
    using ByBegin = std::multimap<Timestamp, Mark>;

    void add(const Mark& mark) { m_marks.emplace(mark.range.begin, mark); }
    void replace(ByBegin marks) { m_marks = std::move(marks); }
    /// A call of the host that launches the device work of this correlation.
    void addLaunch(std::uint64_t correlation, Timestamp start);
    /// A launch was added after ofLaunched() had been asked for what it launched.
    [[nodiscard]] bool launchCameLate() const { return m_late; }
    /// All of them later by so much.
    void shift(Duration by);

    /// kNoStep outside of all steps.
    [[nodiscard]] StepIndex at(Timestamp time) const;
    /// Of device work that begins at `start`; by its launch where that is known.
    [[nodiscard]] StepIndex ofLaunched(std::uint64_t correlation, Timestamp start);
    [[nodiscard]] const ByBegin& marks() const { return m_marks; }

private:
    /// Correlations count up, so that launches stand in blocks.
    static constexpr std::uint64_t kBlock = 2048;
    /// 64 MB: about 8 million launches. Work of others goes by its own time.
    static constexpr std::size_t kMostBlocks = 4096;
    /// Larger ones are the importer's, of work that nothing launched.
    static constexpr std::uint64_t kMostCorrelation = std::uint64_t{1} << 62;
    using Block = std::unique_ptr<std::int64_t[]>;

    [[nodiscard]] std::int64_t* placeOf(std::uint64_t correlation);

    ByBegin m_marks;
    bool m_late = false;
    std::unordered_map<std::uint64_t, Block> m_launches;
};

/// An argument of the annotation behind the last step, which is none: exported for HTA's sake.
inline constexpr std::string_view kBehindLastStep = "behind_last_step";

}  // namespace shardscope::interchange
