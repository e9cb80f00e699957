// What depends on what within a step, over all ranks: the graph that the critical path is walked
// on, and that is played again with other durations.
//
// An activity is work on one rank that begins once all it depends on has ended, and after what then
// still lay between: its delay, the time from the last of these ends to its start. Starts and ends
// are those recorded, so that the graph says of each activity which one it began after. Edges that
// the recorded times contradict are left out.
#pragma once

#include "storage/model/events.h"
#include "storage/model/words.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::analysis {

enum class PathKind : std::uint8_t {
    kCompute,
    kOptimizer,
    kData,
    kEvaluation,
    kMoving,
    kCollective,
    kWaiting,
    kBlocked,
    kCopy,
    kLaunch,
    kHost,
    kLatency,
    kLateStart,
    kGap,
};
struct PathKindWords {
    PathKind value;
    const char* word;
    const char* definition;
};
constexpr auto wordsOf(PathKind) {
    return wordList<PathKindWords>(
        {{PathKind::kCompute, "compute",
          "Forward, head and backward of a CPU rank; compute kernels of a device."},
         {PathKind::kOptimizer, "optimizer", "Clip and optimizer of a CPU rank."},
         {PathKind::kData, "data", "Building the batch."},
         {PathKind::kEvaluation, "evaluation", "Validation passes inside the step."},
         {PathKind::kMoving, "moving", "A collective from its last arrival on."},
         {PathKind::kCollective, "collective",
          "A collective whose waiting and transfer time cannot be separated."},
         {PathKind::kWaiting, "waiting", "For a rank that is not looked at."},
         {PathKind::kBlocked, "blocked", "A wait that no recorded collective or kernel ended."},
         {PathKind::kCopy, "copy", "Copies of a device."},
         {PathKind::kLaunch, "launch", "A launch, until its kernel begins."},
         {PathKind::kHost, "host",
          "The step's thread between phases; of a device rank, all of it."},
         {PathKind::kLatency, "latency",
          "From asked for to taken up, and from the end of a collective to the end of the wait "
          "for it."},
         {PathKind::kLateStart, "late start", "The rank began its step after the first one."},
         {PathKind::kGap, "gap", "Between two kernels, with nothing recorded that explains it."}});
}

struct Activity {
    RankId rank;
    PathKind kind = PathKind::kHost;
    PathKind before = PathKind::kGap;  ///< what its delay is
    std::uint32_t name = 0;            ///< of PathNames
    LayerIndex layer = kNoLayer;
    TimeRange range;
    Duration fixed;       ///< of a collective: what a faster link would not shorten
    bool gather = false;  ///< moves a gather
    bool waitsForGather = false;

    [[nodiscard]] bool communicates() const {
        return kind == PathKind::kMoving || kind == PathKind::kCollective;
    }
};

/// Names of activities by number, the same on all ranks. 0 is the empty one.
class PathNames {
public:
    PathNames() { (void)of(""); }
    [[nodiscard]] std::uint32_t of(std::string_view text);
    [[nodiscard]] const std::string& text(std::uint32_t name) const { return m_texts[name]; }

private:
    std::map<std::string, std::uint32_t, std::less<>> m_numbers;
    std::vector<std::string> m_texts;
};

class StepGraph {
public:
    using Place = std::uint32_t;

    /// From the first rank's beginning to the last one's end.
    explicit StepGraph(TimeRange range) : m_range(range) {}

    /// What lies before the step is cut off.
    Place add(Activity activity);
    /// `later` begins after `earlier` has ended; false where recorded times contradict that.
    bool depend(Place later, Place earlier);
    /// The step has ended when these have.
    void addEnd(Place place) { m_ends.push_back(place); }
    /// After the last call of those above, before the first of those below. A ring, of activities
    /// without length at one instant, is cut.
    void seal();

    [[nodiscard]] TimeRange range() const { return m_range; }
    [[nodiscard]] const std::vector<Activity>& activities() const { return m_activities; }
    [[nodiscard]] std::span<const Place> needs(Place place) const;
    [[nodiscard]] const std::vector<Place>& ends() const { return m_ends; }
    /// Each after all it depends on.
    [[nodiscard]] const std::vector<Place>& order() const { return m_order; }
    /// Latest end of what it depends on; its start where that is nothing.
    [[nodiscard]] Timestamp readyAt(Place place) const;

private:
    struct Edge {
        Place later, earlier;
    };
    void group(const std::vector<Edge>& edges);
    void visit(Place from, std::vector<std::uint8_t>& seen, std::vector<Edge>& kept);

    TimeRange m_range;
    std::vector<Activity> m_activities;
    std::vector<Edge> m_edges;
    std::vector<Place> m_needs, m_firstNeed, m_ends, m_order;
};

}  // namespace shardscope::analysis
