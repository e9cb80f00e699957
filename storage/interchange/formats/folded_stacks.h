// Spans of lanes folded into stacks: `lane;phase;layer;operator;operator` with the time of each.
//
// What flame graphs are drawn from. Equal stacks are one, so memory goes with what differs, not
// with how much there is. Frames fit the strictest reader of folded stacks, speedscope: no empty
// one, no ';' inside. A frame that ends in " 3" gets an underscore there, or flamegraph.pl would
// take the 3 for a second count.
#pragma once

#include "storage/interchange/formats/export_scope.h"
#include "storage/interchange/formats/nested_tracks.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shardscope::interchange {

/// All stacks as one tree; equal ones are one node.
class StackTree {
public:
    using Node = std::uint32_t;
    static constexpr Node kRoot = 0;

    /// `parent` itself where it is as deep as a stack may be: the text of stacks grows with the
    /// square of their depth.
    static constexpr std::uint32_t kMostFrames = 512;
    [[nodiscard]] Node child(Node parent, std::string_view name);
    /// A span that is over: its own time, and with what lay within.
    void add(Node node, Duration self, Duration whole);
    [[nodiscard]] bool cut() const { return m_cut; }

    struct Stack {
        Duration self;   ///< of spans with this stack
        Duration total;  ///< with what lay within them
        std::int64_t count = 0;
    };
    [[nodiscard]] std::size_t size() const { return m_nodes.size(); }
    /// Its frames and how long it was; nodes count from 0, the root.
    [[nodiscard]] std::string text(Node node) const;
    [[nodiscard]] const Stack& stack(Node node) const { return m_nodes[node].stack; }
    /// Made before the node.
    [[nodiscard]] Node parent(Node node) const { return m_nodes[node].parent; }
    /// Of its innermost frame, as it was given first.
    [[nodiscard]] const std::string& name(Node node) const { return m_names[m_nodes[node].frame]; }

private:
    struct Entry {
        Node parent;
        std::uint32_t frame;
        std::uint32_t depth;  ///< frames from the root
        Stack stack;
    };
    std::uint32_t frameId(std::string_view name);

    bool m_cut = false;
    std::vector<Entry> m_nodes{{kRoot, 0, 0, {}}};
    std::vector<std::string> m_frames;
    std::vector<std::string> m_names;  ///< of the frames, before they were made to fit
    std::unordered_map<std::string, std::uint32_t> m_frameIds;      ///< by name
    std::unordered_map<std::string, std::uint32_t> m_framesByText;  ///< several names may be one
    std::unordered_map<std::uint64_t, Node> m_children;             ///< parent and frame
};

/// Lanes folded into one tree. One scope at a time; one thread. Functions of Python that asked for
/// a span (the frames among its arguments) are frames around it, but for those that are around what
/// encloses it.
class FoldedStacks {
public:
    /// What is none of the training's (isApart): all of it, or not counted, as reports do.
    enum class Apart { kCounts, kLeftOut };
    explicit FoldedStacks(ExportScope& scope, Apart apart = Apart::kCounts)
        : m_scope(scope), m_leavesApart(apart == Apart::kLeftOut) {}

    /// Spans of a lane, or of the lanes of one thread together, what of them lies within the
    /// scope's range, below `root`.
    Result<void> lanes(std::span<const LaneFacts> lanes, StackTree::Node root);
    [[nodiscard]] StackTree& tree() { return m_tree; }
    [[nodiscard]] std::uint64_t events() const { return m_events; }
    /// Time of what was left out, over lanes.
    [[nodiscard]] Duration leftOut() const { return m_leftOut; }

private:
    /// Of an open span.
    using Frames = std::vector<std::string>;  ///< outermost first
    struct Folded {
        StackTree::Node node = StackTree::kRoot;
        Duration inner;                  ///< covered by what it encloses
        const Frames* frames = nullptr;  ///< of it, or of what encloses it
    };
    using Tracks = NestedTracks<Folded>;

    [[nodiscard]] SpanEvent clipped(RankId rank, SpanEvent span) const;
    void open(RankId rank, StackTree::Node root, Tracks::Track& track);
    [[nodiscard]] const Frames& framesOf(RankId rank, StringId arguments);
    void close(Tracks::Track& track);

    ExportScope& m_scope;
    bool m_leavesApart;
    Duration m_leftOut;
    StackTree m_tree;
    std::uint64_t m_events = 0;
    std::map<std::pair<RankId, StringId>, Frames> m_frames;  ///< of arguments that are one text
};

}  // namespace shardscope::interchange
