// Stacks of calls as one tree: what ran within what, for flame graphs, callers and callees.
//
// Times are sums over all spans of a stack; totals are own times with those of all inner ones. Pure
// values.
#pragma once

#include "storage/model/units.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace shardscope::analysis {

class CallTree {
public:
    using Node = std::uint32_t;
    using Name = std::uint32_t;
    static constexpr Node kRoot = 0;

    struct Frame {
        Node parent = kRoot;  ///< before its children in frames()
        Name name = 0;
        Duration self;
        Duration total;          ///< after addUp()
        std::int64_t count = 0;  ///< 0: only a heading, such as a lane, phase or layer
        std::uint8_t tag = 0;    ///< whatever the caller tells frames by
    };

    /// Made where there is none, with that tag.
    Node child(Node parent, std::string_view name, std::uint8_t tag = 0);
    void add(Node node, Duration self, std::int64_t count);
    /// Makes totals of what was added.
    void addUp();

    /// The root first, without a name.
    [[nodiscard]] const std::vector<Frame>& frames() const { return m_frames; }
    [[nodiscard]] const std::vector<std::string>& names() const { return m_names; }
    [[nodiscard]] std::optional<Name> find(std::string_view name) const;
    [[nodiscard]] Duration total() const { return m_frames[kRoot].total; }
    [[nodiscard]] bool empty() const { return m_frames.size() == 1; }

private:
    std::vector<Frame> m_frames{Frame{}};
    std::vector<std::string> m_names{std::string()};
    std::map<std::string, Name, std::less<>> m_byName;
    std::unordered_map<std::uint64_t, Node> m_children;  ///< by parent and name
};

/// The same time the other way round: what ran itself at the bottom, its callers above it. Own
/// times and counts of a frame are those of all stacks that end so.
[[nodiscard]] CallTree inverted(const CallTree& tree);

/// Time that a name spent below, or above, another one.
struct CallEdge {
    CallTree::Name name = 0;  ///< 0: nothing, it is outermost
    Duration total;
    std::int64_t count = 0;
};
/// Of all frames of a name together. Where it lies within itself only the outer frame counts.
struct CallsOf {
    Duration total, self;
    std::int64_t count = 0;         ///< the inner ones as well
    std::vector<CallEdge> callers;  ///< most time first; they add up to `total`
    /// Most time first; with the own time they add up to `total`.
    std::vector<CallEdge> callees;
};
/// Of a tree that was added up.
[[nodiscard]] CallsOf callsOf(const CallTree& tree, CallTree::Name name);

// Stacks of two runs as one tree, with the time that each call took in either: for differential
// flame graphs. Pure values.

struct CallDifference {
    /// ns of a frame; 0 where the other run alone has it.
    struct Times {
        double before = 0, after = 0;  ///< with what ran within it
        double selfBefore = 0, selfAfter = 0;
    };
    CallTree tree;             ///< stacks of both: names, parents and tags; its times mean nothing
    std::vector<Times> times;  ///< of each of its frames
};

/// Of trees that were added up. Frames are the same if all names from the root on are. Times are
/// divided by `beforeParts` and `afterParts`, such as numbers of steps: positive.
[[nodiscard]] CallDifference callDifference(const CallTree& before, double beforeParts,
                                            const CallTree& after, double afterParts);

}  // namespace shardscope::analysis
