// What the spans of a rank are called: words that its session has interned once. Constant after
// construction, so any thread may ask.
#pragma once

#include "engine/control/observer.h"
#include "profiler/capture/capture_session.h"
#include "storage/model/events.h"
#include "storage/model/words.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace shardscope::worker {

// The stretches of a step that a person thinks in: runs of phases, shown under the step. Pure.

enum class Stretch : std::uint8_t { kNone, kForward, kHead, kBackward, kOptimizer };
constexpr auto wordsOf(Stretch) {
    return wordList<Word<Stretch>>({{Stretch::kNone, "none"},
                                    {Stretch::kForward, "forward"},
                                    {Stretch::kHead, "head"},
                                    {Stretch::kBackward, "backward"},
                                    {Stretch::kOptimizer, "optimizer"}});
}

/// Where a step is once `phase` has come in `current`.
[[nodiscard]] Stretch stretchOf(Phase phase, Stretch current);

class EventNames {
public:
    /// The ids are those of `session`, which is not kept.
    explicit EventNames(capture::CaptureSession& session);

    [[nodiscard]] StringId of(Phase phase) const { return at(m_phases, phase); }
    [[nodiscard]] StringId of(Stretch stretch) const { return at(m_stretches, stretch); }
    [[nodiscard]] StringId of(CollectiveOp operation) const { return at(m_operations, operation); }
    [[nodiscard]] StringId of(control::Level level) const { return at(m_levels, level); }
    [[nodiscard]] StringId ofStep() const { return m_step; }
    /// A span's arguments, JSON that names its cause; empty for none.
    [[nodiscard]] StringId arguments(Cause cause) const { return at(m_causes, cause); }

private:
    template <Worded Enum>
    using Names = std::array<StringId, kPlaces<Enum>>;  ///< by value

    template <Worded Enum>
    static Names<Enum> intern(capture::CaptureSession& session);
    template <Worded Enum, std::size_t N>
    static StringId at(const std::array<StringId, N>& names, Enum value) {
        return names[static_cast<std::size_t>(value)];
    }

    const Names<Phase> m_phases;
    const Names<CollectiveOp> m_operations;
    Names<Cause> m_causes{};
    const Names<Stretch> m_stretches;
    const Names<control::Level> m_levels;
    const StringId m_step;
};

}  // namespace shardscope::worker
