#include "storage/interchange/formats/folded_stacks.h"

#include "storage/columns/arguments.h"
#include "storage/model/frame_text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <ranges>
#include <utility>

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

/// "train.py(10): main", outermost first.
std::vector<std::string> framesIn(std::string_view arguments) {
    std::vector<std::string> frames;
    if (arguments.find("\"frames\":[") == std::string_view::npos) return frames;
    const auto json = nlohmann::json::parse(arguments, nullptr, false);
    if (!json.is_object() || !json.contains("frames")) return frames;
    // What a foreign file says under these keys can be anything.
    try {
        for (const auto& frame : json["frames"]) {
            const auto file = frame.value("filename", std::string());
            const auto name = frame.value("name", std::string());
            frames.push_back(frameText(file, frame.value("line", 0), name));
        }
    } catch (const nlohmann::json::exception&) {
        return {};
    }
    std::ranges::reverse(frames);
    return frames;
}

bool beginsWith(const std::vector<std::string>& frames, const std::vector<std::string>& with) {
    return frames.size() >= with.size() && std::equal(with.begin(), with.end(), frames.begin());
}

}  // namespace

StackTree::Node StackTree::child(Node parent, std::string_view name) {
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

void StackTree::add(Node node, Duration self, Duration whole) {
    Stack& stack = m_nodes[node].stack;
    stack.self += self;
    stack.total += whole;
    ++stack.count;
}

std::uint32_t StackTree::frameId(std::string_view name) {
    const auto [at, fresh] = m_frameIds.try_emplace(std::string(name), 0);
    if (!fresh) return at->second;
    std::string frame = frameOf(name);
    const auto [same, made] =
        m_framesByText.try_emplace(frame, static_cast<std::uint32_t>(m_frames.size()));
    if (made) {
        m_frames.push_back(std::move(frame));
        m_names.push_back(name.empty() ? m_frames.back() : std::string(name));
    }
    return at->second = same->second;
}

std::string StackTree::text(Node node) const {
    std::vector<const std::string*> frames;
    for (Node at = node; at != kRoot; at = m_nodes[at].parent)
        frames.push_back(&m_frames[m_nodes[at].frame]);
    std::string text;
    for (const std::string* frame : std::views::reverse(frames))
        text.append(text.empty() ? "" : ";").append(*frame);
    return text;
}

Result<void> FoldedStacks::lanes(std::span<const LaneFacts> lanes, StackTree::Node root) {
    if (lanes.empty()) return {};
    const RankId rank = lanes.front().rank;
    Tracks tracks;
    const auto end = [this](std::size_t, Tracks::Track& track) { close(track); };
    Timestamp leftOutTo = m_scope.range(rank).begin;
    auto walked = m_scope.forEachSpan(lanes, [&](const SpanEvent& span) {
        if (m_leavesApart && isApart(span)) {
            const SpanEvent part = clipped(rank, span);
            const Timestamp last = part.range().end;
            if (last > leftOutTo) m_leftOut += last - std::max(part.start, leftOutTo);
            leftOutTo = std::max(leftOutTo, last);
            return;
        }
        const auto begin = [&](std::size_t, Tracks::Track& track) { open(rank, root, track); };
        tracks.add(clipped(rank, span), begin, end);
        ++m_events;
    });
    if (!walked) return walked;
    tracks.finish(end);
    return {};
}

/// Only time within the range counts.
SpanEvent FoldedStacks::clipped(RankId rank, SpanEvent span) const {
    const TimeRange part = span.range().intersection(m_scope.range(rank));
    span.start = part.begin;
    span.duration = std::max(Duration{}, part.duration());
    return span;
}

void FoldedStacks::open(RankId rank, StackTree::Node root, Tracks::Track& track) {
    const SpanEvent& span = track.back().span;
    StackTree::Node parent = root;
    if (track.size() > 1) {
        parent = track[track.size() - 2].item.node;
    } else {
        // Those of the outermost span: a stack must not change its root halfway up.
        if (span.phase != Phase::kNone) parent = m_tree.child(parent, toWord(span.phase));
        if (span.layer != kNoLayer) parent = m_tree.child(parent, layerTitle(span.layer));
    }
    const Frames* around = track.size() > 1 ? track[track.size() - 2].item.frames : nullptr;
    Folded& folded = track.back().item;
    folded.frames = around;
    const Frames& own = framesOf(rank, span.arguments);
    if (around == nullptr ? !own.empty() : beginsWith(own, *around)) {
        for (std::size_t i = around != nullptr ? around->size() : 0; i < own.size(); ++i)
            parent = m_tree.child(parent, own[i]);
        folded.frames = &own;
    }
    folded.node = m_tree.child(parent, m_scope.reader().text(rank, span.name));
}

/// Of imported traces every span has arguments of its own, and functions are spans.
const FoldedStacks::Frames& FoldedStacks::framesOf(RankId rank, StringId arguments) {
    static const Frames kNone;
    if (arguments == kEmptyString || columns::isArguments(arguments)) return kNone;
    const auto [known, isNew] = m_frames.try_emplace({rank, arguments});
    if (isNew) known->second = framesIn(m_scope.reader().text(rank, arguments));
    return known->second;
}

void FoldedStacks::close(Tracks::Track& track) {
    const auto& top = track.back();
    // In a stack that was cut an inner span's node is its outer one's: its time is in there.
    const bool again = track.size() > 1 && track[track.size() - 2].item.node == top.item.node;
    m_tree.add(top.item.node, top.span.duration - top.item.inner,
               again ? Duration{} : top.span.duration);
    if (track.size() > 1) track[track.size() - 2].item.inner += top.span.duration;
}

}  // namespace shardscope::interchange
