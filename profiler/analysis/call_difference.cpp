#include "profiler/analysis/call_difference.h"

#include <cstddef>

namespace shardscope::analysis {
namespace {

/// Where each frame of `from` is in `into`.
std::vector<CallTree::Node> merge(CallTree& into, const CallTree& from) {
    std::vector<CallTree::Node> places(from.frames().size(), CallTree::kRoot);
    for (std::size_t node = 1; node < places.size(); ++node) {
        const CallTree::Frame& frame = from.frames()[node];
        places[node] = into.child(places[frame.parent], from.names()[frame.name], frame.tag);
    }
    return places;
}

}  // namespace

CallDifference callDifference(const CallTree& before, double beforeParts, const CallTree& after,
                              double afterParts) {
    CallDifference made;
    const auto placesBefore = merge(made.tree, before);
    const auto placesAfter = merge(made.tree, after);
    made.times.resize(made.tree.frames().size());
    for (std::size_t node = 0; node < placesBefore.size(); ++node) {
        CallDifference::Times& times = made.times[placesBefore[node]];
        times.before = static_cast<double>(before.frames()[node].total.ns) / beforeParts;
        times.selfBefore = static_cast<double>(before.frames()[node].self.ns) / beforeParts;
    }
    for (std::size_t node = 0; node < placesAfter.size(); ++node) {
        CallDifference::Times& times = made.times[placesAfter[node]];
        times.after = static_cast<double>(after.frames()[node].total.ns) / afterParts;
        times.selfAfter = static_cast<double>(after.frames()[node].self.ns) / afterParts;
    }
    return made;
}

}  // namespace shardscope::analysis
