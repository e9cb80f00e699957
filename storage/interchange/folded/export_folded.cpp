// Folded stacks for flame graphs: `lane;phase;layer;operator;operator NANOSECONDS`, self times.
//
// Written for the strictest reader, speedscope: integers, one space, no empty frame. A frame that
// ends in " 3" gets an underscore there, or flamegraph.pl would take the 3 for a second count.
#include "storage/interchange/formats/export_scope.h"
#include "storage/interchange/formats/export_writer.h"
#include "storage/interchange/formats/nested_tracks.h"
#include "storage/interchange/output_kind.h"

#include <algorithm>
#include <ranges>
#include <unordered_map>

namespace shardscope::interchange {
namespace {

std::string frameOf(std::string_view name) {
    std::string frame;
    for (const char c : name) {
        const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
        frame += c == ';' ? ':' : control ? ' ' : c;
    }
    const auto last = frame.find_last_not_of(' ');
    if (last == std::string::npos) return "(unnamed)";
    frame.erase(last + 1);
    frame.erase(0, frame.find_first_not_of(' '));
    const auto digits = frame.find_last_not_of("0123456789.");
    if (digits != std::string::npos && digits + 1 < frame.size() && frame[digits] == ' ')
        frame[digits] = '_';
    return frame;
}

/// All stacks as one tree; equal ones are one node.
class StackTree {
public:
    using Node = std::uint32_t;
    static constexpr Node kRoot = 0;

    /// `parent` itself where it is as deep as a stack may be: the text of stacks grows with the
    /// square of their depth.
    static constexpr std::uint32_t kMostFrames = 512;
    Node child(Node parent, std::string_view name) {
        if (m_nodes[parent].depth == kMostFrames) {
            m_cut = true;
            return parent;
        }
        const std::uint32_t frame = frameId(name);
        const std::uint64_t key = std::uint64_t{parent} << 32 | frame;
        const auto [node, made] = m_children.try_emplace(key, static_cast<Node>(m_nodes.size()));
        if (made) m_nodes.push_back({parent, frame, m_nodes[parent].depth + 1, {}});
        return node->second;
    }
    void add(Node node, Duration self) { m_nodes[node].self += self; }
    [[nodiscard]] bool cut() const { return m_cut; }

    std::size_t write(ExportWriter& writer) const {
        std::size_t lines = 0;
        for (const Entry& entry : m_nodes) {
            if (entry.self.ns <= 0) continue;
            writer.write(stack(entry) + " " + std::to_string(entry.self.ns) + "\n");
            ++lines;
        }
        return lines;
    }

private:
    struct Entry {
        Node parent;
        std::uint32_t frame;
        std::uint32_t depth;  ///< frames from the root
        Duration self;
    };
    std::uint32_t frameId(std::string_view name) {
        const auto [at, fresh] = m_frameIds.try_emplace(std::string(name), 0);
        if (!fresh) return at->second;
        std::string frame = frameOf(name);
        const auto [same, made] =
            m_framesByText.try_emplace(frame, static_cast<std::uint32_t>(m_frames.size()));
        if (made) m_frames.push_back(std::move(frame));
        return at->second = same->second;
    }
    [[nodiscard]] std::string stack(const Entry& leaf) const {
        std::vector<const std::string*> frames{&m_frames[leaf.frame]};
        for (Node at = leaf.parent; at != kRoot; at = m_nodes[at].parent)
            frames.push_back(&m_frames[m_nodes[at].frame]);
        std::string text;
        for (const std::string* frame : std::views::reverse(frames))
            text.append(text.empty() ? "" : ";").append(*frame);
        return text;
    }

    bool m_cut = false;
    std::vector<Entry> m_nodes{{kRoot, 0, 0, {}}};
    std::vector<std::string> m_frames;
    std::unordered_map<std::string, std::uint32_t> m_frameIds;      ///< by name
    std::unordered_map<std::string, std::uint32_t> m_framesByText;  ///< several names may be one
    std::unordered_map<std::uint64_t, Node> m_children;             ///< parent and frame
};

/// Of an open span.
struct Folded {
    StackTree::Node node = StackTree::kRoot;
    Duration inner;  ///< covered by what it encloses
};

class FoldedExport {
public:
    explicit FoldedExport(ExportScope& scope) : m_scope(scope) {}

    Result<void> lane(const LaneFacts& lane) {
        StackTree::Node root = StackTree::kRoot;
        if (m_scope.ranks().size() > 1)
            root = m_tree.child(root, "rank " + std::to_string(lane.rank.value));
        root = m_tree.child(root, lane.name);
        Tracks tracks;
        const auto end = [this](std::size_t, Tracks::Track& track) { close(track); };
        auto walked = m_scope.forEachSpan(lane, [&](const SpanEvent& span) {
            const auto begin = [&](std::size_t, Tracks::Track& track) {
                open(lane.rank, root, track);
            };
            tracks.add(clipped(span), begin, end);
            ++m_events;
        });
        if (!walked) return walked;
        tracks.finish(end);
        return {};
    }
    [[nodiscard]] const StackTree& tree() const { return m_tree; }
    [[nodiscard]] std::uint64_t events() const { return m_events; }

private:
    using Tracks = NestedTracks<Folded>;

    /// Only time within the range counts.
    [[nodiscard]] SpanEvent clipped(SpanEvent span) const {
        const TimeRange part = span.range().intersection(m_scope.range());
        span.start = part.begin;
        span.duration = std::max(Duration{}, part.duration());
        return span;
    }
    void open(RankId rank, StackTree::Node root, Tracks::Track& track) {
        const SpanEvent& span = track.back().span;
        StackTree::Node parent = root;
        if (track.size() > 1) {
            parent = track[track.size() - 2].item.node;
        } else {
            // Those of the outermost span: a stack must not change its root halfway up.
            if (span.phase != Phase::kNone) parent = m_tree.child(parent, toWord(span.phase));
            if (span.layer != kNoLayer) parent = m_tree.child(parent, layerTitle(span.layer));
        }
        track.back().item.node = m_tree.child(parent, m_scope.reader().text(rank, span.name));
    }
    void close(Tracks::Track& track) {
        const auto& top = track.back();
        m_tree.add(top.item.node, top.span.duration - top.item.inner);
        if (track.size() > 1) track[track.size() - 2].item.inner += top.span.duration;
    }

    ExportScope& m_scope;
    StackTree m_tree;
    std::uint64_t m_events = 0;
};

}  // namespace

Result<ExportAccount> exportFolded(storage::RecordingReader& reader, const ExportOptions& options) {
    auto scope = ExportScope::of(reader, options);
    if (!scope) return failure(scope);
    auto writer = ExportWriter::open(outputOf(options, kFoldedFile));
    if (!writer) return failure(writer);
    FoldedExport folded(*scope);
    for (const RankId rank : scope->ranks())
        for (const LaneFacts& lane : scope->lanes(rank)) {
            if (lane.role == LaneRole::kCounter) continue;
            if (auto done = folded.lane(lane); !done)
                return failure(done, "exporting folded stacks");
        }
    if (folded.tree().write(*writer) == 0)
        return failure(ErrorCode::kUsage,
                       "no span lies within what is to be exported: choose "
                       "other ranks or a wider range");
    if (auto done = writer->finish(); !done) return failure(done);
    ExportAccount account{folded.events(),
                          {options.output},
                          {"folded stacks hold time by stack: no order, counters or memory"}};
    if (folded.tree().cut())
        account.notes.push_back("stacks of more than " + std::to_string(StackTree::kMostFrames) +
                                " frames were cut there: what is within counts for their last one");
    return account;
}

}  // namespace shardscope::interchange
