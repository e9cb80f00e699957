// What a flame graph shows: cells in rows, a row for each depth, each cell below the one that it is
// a part of. Plain values, made where data is read.
#pragma once

#include "app/desktop/models/meaning.h"
#include "profiler/analysis/steps/call_tree.h"

#include <QString>
#include <QStringList>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace shardscope::desktop {

struct FlameCell {
    double begin = 0;  ///< from 0 to the whole, in ns
    double width = 0;
    double self = 0;           ///< of it, what is not an inner cell's
    std::int64_t count = 0;    ///< 0: only a heading
    std::uint32_t name = 0;    ///< of FlameData::names
    std::uint32_t parent = 0;  ///< the first cell is its own
    Meaning meaning = Meaning::kHost;
    std::optional<float> change{};  ///< -1 to 1: less and more than in what it is compared with

    [[nodiscard]] double end() const { return begin + width; }
};

/// What a cell takes in both of what is compared, in ns.
struct FlamePair {
    double before = 0, after = 0;
};

struct FlameData {
    std::vector<FlameCell> cells;   ///< row by row, each by begin; the first is the whole
    std::vector<std::size_t> rows;  ///< first cell of each row, and the end of the last one
    QStringList names;
    std::vector<FlamePair> pairs{};  ///< of each cell; empty: nothing is compared

    [[nodiscard]] bool empty() const { return cells.empty() || cells.front().width <= 0; }
    [[nodiscard]] double whole() const { return cells.empty() ? 0 : cells.front().width; }
    [[nodiscard]] std::size_t rowCount() const { return rows.empty() ? 0 : rows.size() - 1; }
    [[nodiscard]] std::size_t rowOf(std::size_t cell) const;
    /// The cell of a row at `place`; nullopt: none is there.
    [[nodiscard]] std::optional<std::size_t> cellAt(std::size_t row, double place) const;
    [[nodiscard]] const QString& nameOf(std::size_t cell) const {
        return names[static_cast<qsizetype>(cells[cell].name)];
    }
};

/// What a search finds.
struct FlameMatch {
    std::vector<bool> names;  ///< by number
    std::size_t cells = 0;
    std::int64_t count = 0;  ///< of spans
    double share = 0;        ///< of the whole, in cells that match or lie in such a one
};
/// Names that contain `text`, whatever the case; an empty one finds nothing.
[[nodiscard]] FlameMatch findInFlame(const FlameData& data, const QString& text);
/// "12 found, 31.4 % of the time"
[[nodiscard]] QString foundText(const FlameMatch& found);

/// "aten::mm: 12.1 ms of 80.2 ms (15.1 %), self 3.2 ms, 240 times", or of what is compared
/// "aten::mm: 12.1 ms instead of 10.2 ms: +1.9 ms (+18.6 %), 15.1 % of 80.2 ms"
[[nodiscard]] QString flameText(const FlameData& data, std::size_t cell);

// Places the frames of a tree of calls as cells of a flame graph. Pure.

using FrameWidth = std::function<double(analysis::CallTree::Node)>;
/// What a cell is beside its place, width, name and parent.
using FrameFill = std::function<void(analysis::CallTree::Node, FlameCell&)>;

/// Within each frame the widest first; frames without width have no cell. No frame is wider than
/// the one that it is a part of. `whole`: what the first cell is called.
[[nodiscard]] FlameData layOutFlame(const analysis::CallTree& tree, const QString& whole,
                                    const FrameWidth& width, const FrameFill& fill);

}  // namespace shardscope::desktop
