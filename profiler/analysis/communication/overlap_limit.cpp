// The most of its communication that a schedule can hide.
//
// The pipeline model of the performance reference, section 6.1, in its general form: one compute
// resource and one link, both busy without a pause as soon as what they need is there. What is
// recorded decides order and durations: phases keep their length, collectives the time in which
// data moved (peers were never waited for), each collective is asked for where it was asked for.
// A phase needs the last gather of its layer, the gradient norm all reductions before it, and the
// update the norm.
#include "profiler/analysis/findings.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace shardscope::analysis {
namespace {

bool occupiesStepThread(Phase phase) {
    return isWork(phase) || phase == Phase::kData || phase == Phase::kOther ||
           phase == Phase::kRelease;
}

/// Time that two rows of ranges have in common. Those of a row come in order and do not overlap;
/// kept are only those that the other row has not passed, since a long run has millions.
class CommonTime {
public:
    void addFirst(TimeRange range) { add(range, m_first, m_second); }
    void addSecond(TimeRange range) { add(range, m_second, m_first); }
    [[nodiscard]] Duration sum() const { return m_sum; }

private:
    void add(TimeRange range, std::deque<TimeRange>& own, std::deque<TimeRange>& other) {
        if (range.empty()) return;
        while (!other.empty() && other.front().end <= range.begin) other.pop_front();
        for (const TimeRange& each : other) {
            if (each.begin >= range.end) break;
            m_sum += each.intersection(range).duration();
        }
        own.push_back(range);
    }

    std::deque<TimeRange> m_first, m_second;
    Duration m_sum;
};

/// One rank's training time played again with nothing lost.
class Replay {
public:
    Replay(const RankEvents& events, const Intervals& training, const MovingTime& moving)
        : m_events(events), m_training(training), m_moving(moving) {
        m_operations = byStart(events.collectives);
        std::erase_if(m_operations,
                      [&](const auto* operation) { return !contains(training, operation->start); });
    }

    void run() {
        for (const SpanEvent& phase : m_events.phases) {
            if (!occupiesStepThread(phase.phase) || !contains(m_training, phase.start)) continue;
            // What was asked for before this phase began may have to be waited for.
            play(phase.start);
            const Timestamp start = std::max(m_computeFree, needed(phase));
            m_last = Last{&phase, start};
            play(phase.end());
            m_computeFree = start + phase.duration;
            if (isWork(phase.phase)) m_hidden.addSecond({start, m_computeFree});
        }
        play(std::nullopt);
    }

    /// Behind run(): its time on the link, and of it behind work.
    [[nodiscard]] std::pair<Duration, Duration> linkAndHidden() const {
        return {m_link, m_hidden.sum()};
    }

private:
    struct Last {
        const SpanEvent* phase = nullptr;
        Timestamp start;  ///< in the replay
    };

    static bool contains(const Intervals& set, Timestamp time) {
        const auto next =
            std::upper_bound(set.begin(), set.end(), time,
                             [](Timestamp t, const TimeRange& range) { return t < range.begin; });
        return next != set.begin() && std::prev(next)->contains(time);
    }

    /// The operations that were asked for before `until`.
    void play(std::optional<Timestamp> until) {
        for (; m_next < m_operations.size(); ++m_next) {
            const CollectiveEvent& operation = *m_operations[m_next];
            if (until && operation.issue >= *until) return;
            const Timestamp start = std::max(m_linkFree, asked(operation));
            m_linkFree = start + movingTime(operation);
            m_link += m_linkFree - start;
            m_hidden.addFirst({start, m_linkFree});
            remember(operation);
        }
    }

    [[nodiscard]] Duration movingTime(const CollectiveEvent& operation) const {
        const auto other = m_moving ? m_moving(operation) : std::nullopt;
        return other.value_or(operation.end - operation.lastArrival());
    }

    /// When the replay's step thread asks for it: as far into the last phase, or right after it.
    [[nodiscard]] Timestamp asked(const CollectiveEvent& operation) const {
        if (m_last.phase == nullptr) return {};
        const Duration into =
            std::clamp(operation.issue - m_last.phase->start, Duration{0}, m_last.phase->duration);
        return m_last.start + into;
    }

    void remember(const CollectiveEvent& operation) {
        switch (operation.cause) {
            case Cause::kDemand:
            case Cause::kPrefetch:
            case Cause::kUpdate:
                m_gathered[operation.layer] = m_linkFree;
                break;
            case Cause::kGradient:
                m_reduced = m_linkFree;
                break;
            case Cause::kActivation:
            case Cause::kActivationGradient:
                m_exchanged = m_linkFree;
                break;
            default:
                m_agreed = m_linkFree;
        }
    }

    [[nodiscard]] Timestamp needed(const SpanEvent& phase) const {
        if (phase.phase == Phase::kClip) return m_reduced;
        if (phase.phase == Phase::kOptimizer) return std::max(m_reduced, m_agreed);
        const auto gathered = m_gathered.find(phase.layer);
        return gathered == m_gathered.end() ? m_exchanged : std::max(m_exchanged, gathered->second);
    }

    const RankEvents& m_events;
    const Intervals& m_training;
    const MovingTime& m_moving;
    std::vector<const CollectiveEvent*> m_operations;
    std::size_t m_next = 0;
    Last m_last;
    Timestamp m_computeFree, m_linkFree;
    std::map<LayerIndex, Timestamp> m_gathered;  ///< when each layer's parameters are there
    Timestamp m_reduced, m_agreed;
    Timestamp m_exchanged;  ///< when what ranks that share layers had to tell is there
    Duration m_link;
    CommonTime m_hidden;  ///< of the link and of work
};

/// Imported traces have no phases, and collectives of other programs no cause: what needs them is
/// not recorded.
bool saysItsSchedule(const RankEvents& events) {
    return !events.phases.empty() &&
           std::any_of(events.collectives.begin(), events.collectives.end(),
                       [](const CollectiveEvent& each) { return each.cause != Cause::kNone; });
}

}  // namespace

void addOverlapLimit(const RankEvents& events, const Intervals& training, Overlap& overlap,
                     const MovingTime& moving) {
    if (!saysItsSchedule(events)) return;
    Replay replay(events, training, moving);
    replay.run();
    std::tie(overlap.limitCommunication, overlap.limitHidden) = replay.linkAndHidden();
}

}  // namespace shardscope::analysis
