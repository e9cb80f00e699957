#include "app/desktop/models/flame_data.h"

#include "app/desktop/models/format.h"

#include <QObject>
#include <algorithm>
#include <cmath>
#include <cstdint>
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

using namespace Qt::StringLiterals;

std::size_t FlameData::rowOf(std::size_t cell) const {
    const auto after = std::upper_bound(rows.begin(), rows.end(), cell);
    return static_cast<std::size_t>(after - rows.begin()) - 1;
}

std::optional<std::size_t> FlameData::cellAt(std::size_t row, double place) const {
    if (row >= rowCount()) return std::nullopt;
    const auto first = cells.begin() + static_cast<std::ptrdiff_t>(rows[row]);
    const auto last = cells.begin() + static_cast<std::ptrdiff_t>(rows[row + 1]);
    const auto after = std::upper_bound(
        first, last, place, [](double at, const FlameCell& cell) { return at < cell.begin; });
    if (after == first || place >= std::prev(after)->end()) return std::nullopt;
    return static_cast<std::size_t>(std::prev(after) - cells.begin());
}

FlameMatch findInFlame(const FlameData& data, const QString& text) {
    FlameMatch match;
    match.names.resize(static_cast<std::size_t>(data.names.size()));
    if (text.isEmpty() || data.empty()) return match;
    for (qsizetype i = 0; i < data.names.size(); ++i)
        match.names[static_cast<std::size_t>(i)] =
            data.names[i].contains(text, Qt::CaseInsensitive);
    std::vector<bool> within(data.cells.size());
    double found = 0;
    for (std::size_t i = 1; i < data.cells.size(); ++i) {
        const FlameCell& cell = data.cells[i];
        const bool isIt = match.names[cell.name];
        const bool inOne = within[cell.parent];
        within[i] = isIt || inOne;
        if (isIt) {
            ++match.cells;
            match.count += cell.count;
            if (!inOne) found += cell.width;
        }
    }
    match.share = found / data.whole();
    return match;
}

QString foundText(const FlameMatch& found) {
    return found.cells == 0 ? QObject::tr("none found")
                            : QObject::tr("%1 found, %2 of the time")
                                  .arg(formatCount(static_cast<std::int64_t>(found.cells)),
                                       formatPercent(found.share));
}

namespace {

QString timeText(double ns) {
    return formatDuration({std::llround(ns)});
}

QString pairText(const FlamePair& pair) {
    if (pair.before <= 0) return QObject::tr("%1, nothing before").arg(timeText(pair.after));
    if (pair.after <= 0) return QObject::tr("nothing instead of %1").arg(timeText(pair.before));
    const double change = pair.after - pair.before;
    return QObject::tr("%1 instead of %2: %3%4 (%5)")
        .arg(timeText(pair.after), timeText(pair.before), change > 0 ? u"+"_s : QString(),
             timeText(change), formatSignedPercent(change / pair.before));
}

}  // namespace

QString flameText(const FlameData& data, std::size_t cell) {
    const FlameCell& shown = data.cells[cell];
    const bool compared = !data.pairs.empty();
    QString text = u"%1: %2"_s.arg(data.nameOf(cell),
                                   compared ? pairText(data.pairs[cell]) : timeText(shown.width));
    if (cell > 0 && compared)
        text += QObject::tr(", %1 of %2")
                    .arg(formatPercent(shown.width / data.whole()), timeText(data.whole()));
    else if (cell > 0)
        text += QObject::tr(" of %1 (%2)")
                    .arg(timeText(data.whole()), formatPercent(shown.width / data.whole()));
    if (shown.count > 0) {
        text += QObject::tr(", self %1").arg(timeText(shown.self));
        text += shown.count == 1 ? QObject::tr(", once")
                                 : QObject::tr(", %1 times").arg(formatCount(shown.count));
    }
    if (shown.change && !compared)
        text += u", "_s + formatSignedPercent(static_cast<double>(*shown.change));
    return text;
}

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
