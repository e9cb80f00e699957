#include "profiler/analysis/steps/call_tree.h"

#include <algorithm>
#include <cstddef>

namespace shardscope::analysis {
namespace {

std::vector<CallEdge> sorted(const std::map<CallTree::Name, CallEdge>& byName) {
    std::vector<CallEdge> edges;
    for (const auto& [name, edge] : byName)
        if (edge.total.ns > 0 || edge.count > 0) edges.push_back(edge);
    std::stable_sort(edges.begin(), edges.end(),
                     [](const CallEdge& a, const CallEdge& b) { return a.total > b.total; });
    return edges;
}

void note(std::map<CallTree::Name, CallEdge>& edges, CallTree::Name name, Duration total,
          std::int64_t count) {
    CallEdge& edge = edges[name];
    edge.name = name;
    edge.total += total;
    edge.count += count;
}

/// Nearest frame of `name` that encloses each frame; itself does not count. kRoot: none.
std::vector<CallTree::Node> enclosing(const CallTree& tree, CallTree::Name name) {
    const auto& frames = tree.frames();
    std::vector<CallTree::Node> outer(frames.size(), CallTree::kRoot);
    for (CallTree::Node node = 1; node < frames.size(); ++node) {
        const CallTree::Node parent = frames[node].parent;
        const bool isIt = parent != CallTree::kRoot && frames[parent].name == name;
        outer[node] = isIt ? parent : outer[parent];
    }
    return outer;
}

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

CallTree::Node CallTree::child(Node parent, std::string_view name, std::uint8_t tag) {
    auto known = m_byName.find(name);
    if (known == m_byName.end()) {
        known = m_byName.emplace(name, static_cast<Name>(m_names.size())).first;
        m_names.emplace_back(name);
    }
    const std::uint64_t key = std::uint64_t{parent} << 32 | known->second;
    const auto [node, made] = m_children.try_emplace(key, static_cast<Node>(m_frames.size()));
    if (made) m_frames.push_back({parent, known->second, {}, {}, 0, tag});
    return node->second;
}

void CallTree::add(Node node, Duration self, std::int64_t count) {
    m_frames[node].self += self;
    m_frames[node].count += count;
}

void CallTree::addUp() {
    for (Frame& frame : m_frames) frame.total = frame.self;
    for (std::size_t at = m_frames.size() - 1; at > 0; --at)
        m_frames[m_frames[at].parent].total += m_frames[at].total;
}

std::optional<CallTree::Name> CallTree::find(std::string_view name) const {
    const auto known = m_byName.find(name);
    return known == m_byName.end() ? std::nullopt : std::optional(known->second);
}

CallTree inverted(const CallTree& tree) {
    CallTree turned;
    const auto& frames = tree.frames();
    for (CallTree::Node node = 1; node < frames.size(); ++node) {
        const CallTree::Frame& frame = frames[node];
        if (frame.self.ns <= 0 && frame.count == 0) continue;
        CallTree::Node at = CallTree::kRoot;
        for (CallTree::Node caller = node; caller != CallTree::kRoot;
             caller = frames[caller].parent)
            at = turned.child(at, tree.names()[frames[caller].name], frame.tag);
        turned.add(at, frame.self, frame.count);
    }
    turned.addUp();
    return turned;
}

CallsOf callsOf(const CallTree& tree, CallTree::Name name) {
    CallsOf calls;
    std::map<CallTree::Name, CallEdge> callers, callees;
    const auto& frames = tree.frames();
    const std::vector<CallTree::Node> outer = enclosing(tree, name);
    for (CallTree::Node node = 1; node < frames.size(); ++node) {
        const CallTree::Frame& frame = frames[node];
        if (frame.name == name) {
            calls.self += frame.self;
            calls.count += frame.count;
            if (outer[node] != CallTree::kRoot) continue;
            calls.total += frame.total;
            note(callers, frames[frame.parent].name, frame.total, frame.count);
        } else if (frame.parent != CallTree::kRoot && frames[frame.parent].name == name) {
            // of one that lies within itself the inner frames stand for what they call
            note(callees, frame.name, frame.total, frame.count);
        }
    }
    // what a name encloses of itself through others would count in those and in itself
    for (CallTree::Node node = 1; node < frames.size(); ++node)
        if (frames[node].name == name && outer[node] != CallTree::kRoot) {
            CallTree::Node through = node;
            while (frames[through].parent != outer[node]) through = frames[through].parent;
            if (through != node) callees[frames[through].name].total -= frames[node].total;
        }
    calls.callers = sorted(callers);
    calls.callees = sorted(callees);
    return calls;
}

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
