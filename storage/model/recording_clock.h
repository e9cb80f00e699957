// From a host's clock to the recording's, corrected while the run goes on.
//
// Starts as a constant difference and stays one until the first correction: a rank on the
// recorder's own host gets none. A correction bends the clock: from its moment on it runs a little
// faster or slower until it meets the new line, and never backwards. What happened before that
// moment keeps the time it had. A clock that is behind by more than bending makes up in time (its
// host slept, or was set back) jumps forwards; one that is ahead is slowed until it is met.
#pragma once

#include "storage/model/units.h"

#include <atomic>
#include <cstdint>
#include <deque>

namespace shardscope {

/// Recording clock = (host clock - fromNs) / (1 + driftPpb / 1e9) + fromNs - originNs.
struct ClockLine {
    std::int64_t fromNs = 0;    ///< host clock
    std::int64_t originNs = 0;  ///< host clock less recording clock at `fromNs`
    std::int64_t driftPpb = 0;  ///< by which the host clock gains, ns a second
};

class RecordingClock {
public:
    /// Within which the clock meets a new line.
    static constexpr std::int64_t kSlewNs = 2'000'000'000;
    /// Largest share by which it runs faster to meet a line; further behind, it jumps.
    static constexpr double kMostHaste = 0.01;
    /// Largest share by which it runs slower to be met; further ahead, that takes longer.
    static constexpr double kMostDelay = 0.1;

    /// `originNs`: host clock at the recording clock's zero.
    explicit RecordingClock(std::int64_t originNs) : m_originNs(originNs) {}
    RecordingClock(const RecordingClock&) = delete;
    RecordingClock& operator=(const RecordingClock&) = delete;

    /// Any thread, of any time that has come.
    [[nodiscard]] Timestamp at(std::int64_t hostNs) const {
        const Piece* piece = m_newest.load(std::memory_order_acquire);
        while (piece != nullptr && hostNs < piece->fromNs) piece = piece->older;
        return {piece == nullptr ? hostNs - m_originNs : piece->at(hostNs)};
    }

    /// From `line.fromNs` on, or a moment after `nowNs` (host clock) where that has passed: nothing
    /// that was stamped already moves. One thread. A line that no clock follows changes nothing.
    void correct(const ClockLine& line, std::int64_t nowNs);

private:
    __extension__ using Wide = __int128;
    static constexpr int kShift = 48;

    /// Never changes, and lives as long as the clock: readers may still be on an older one.
    struct Piece {
        std::int64_t fromNs = 0;
        std::int64_t atFromNs = 0;  ///< recording clock
        std::int64_t gain = 0;      ///< by which recording time gains on the host's, 2^-48
        const Piece* older = nullptr;
        [[nodiscard]] std::int64_t at(std::int64_t hostNs) const {
            const std::int64_t passed = hostNs - fromNs;
            return atFromNs + passed + static_cast<std::int64_t>((Wide{passed} * gain) >> kShift);
        }
    };
    [[nodiscard]] const Piece* inForce(std::int64_t hostNs) const;
    const Piece* add(std::int64_t fromNs, std::int64_t atFromNs, double gain, const Piece* older);

    const std::int64_t m_originNs;
    std::atomic<const Piece*> m_newest{nullptr};
    std::deque<Piece> m_pieces;  ///< two a correction, 40 bytes each
};

}  // namespace shardscope
