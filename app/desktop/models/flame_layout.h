// Places the frames of a tree of calls as cells of a flame graph. Pure.
#pragma once

#include "app/desktop/models/flame_data.h"
#include "profiler/analysis/steps/call_tree.h"

#include <QString>
#include <functional>

namespace shardscope::desktop {

using FrameWidth = std::function<double(analysis::CallTree::Node)>;
/// What a cell is beside its place, width, name and parent.
using FrameFill = std::function<void(analysis::CallTree::Node, FlameCell&)>;

/// Within each frame the widest first; frames without width have no cell. No frame is wider than
/// the one that it is a part of. `whole`: what the first cell is called.
[[nodiscard]] FlameData layOutFlame(const analysis::CallTree& tree, const QString& whole,
                                    const FrameWidth& width, const FrameFill& fill);

}  // namespace shardscope::desktop
