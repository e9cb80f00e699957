#include "app/desktop/models/flame_layout.h"

#include "app/desktop/models/format.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace shardscope::desktop {
namespace {

using analysis::CallTree;

/// Inner frames of each, the widest first: `order` from `first[f]` to `first[f + 1]`.
struct Children {
    std::vector<CallTree::Node> order;
    std::vector<std::size_t> first;
};

Children childrenOf(const CallTree& tree, const FrameWidth& width) {
    const auto& frames = tree.frames();
    Children children;
    children.order.resize(frames.size() - 1);
    std::iota(children.order.begin(), children.order.end(), CallTree::Node{1});
    std::stable_sort(children.order.begin(), children.order.end(),
                     [&](CallTree::Node a, CallTree::Node b) {
                         if (frames[a].parent != frames[b].parent)
                             return frames[a].parent < frames[b].parent;
                         return width(a) > width(b);
                     });
    children.first.assign(frames.size() + 1, 0);
    for (std::size_t node = 1; node < frames.size(); ++node)
        ++children.first[frames[node].parent + 1];
    std::partial_sum(children.first.begin(), children.first.end(), children.first.begin());
    return children;
}

}  // namespace

FlameData layOutFlame(const CallTree& tree, const QString& whole, const FrameWidth& width,
                      const FrameFill& fill) {
    FlameData data;
    for (const std::string& name : tree.names()) data.names << fromUtf8(name);
    data.names.front() = whole;
    const Children children = childrenOf(tree, width);
    std::vector<CallTree::Node> nodes;  // of the cells
    const auto add = [&](CallTree::Node node, double begin, std::size_t parent) {
        FlameCell cell;
        cell.begin = begin;
        cell.width = width(node);
        cell.name = tree.frames()[node].name;
        cell.parent = static_cast<std::uint32_t>(parent);
        fill(node, cell);
        data.cells.push_back(cell);
        nodes.push_back(node);
    };
    add(CallTree::kRoot, 0, 0);
    for (std::size_t begin = 0; begin < data.cells.size();) {
        data.rows.push_back(begin);
        const std::size_t end = data.cells.size();
        for (std::size_t at = begin; at < end; ++at) {
            double place = data.cells[at].begin;
            const CallTree::Node node = nodes[at];
            for (std::size_t i = children.first[node]; i < children.first[node + 1]; ++i) {
                if (width(children.order[i]) <= 0) continue;
                add(children.order[i], place, at);
                place = data.cells.back().end();
            }
        }
        begin = end;
    }
    data.rows.push_back(data.cells.size());
    return data;
}

}  // namespace shardscope::desktop
