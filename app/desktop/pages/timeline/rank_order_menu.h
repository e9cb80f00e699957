// The menu that puts ranks in order. GUI thread.
#pragma once

#include "app/desktop/models/rank_order.h"

#include <functional>

class QMenu;

namespace shardscope::desktop {

/// Fills `menu` anew: by rank, then by each figure; `current` is the name of the one that is
/// checked, empty: by rank. `choose` gets the name and the order, which is empty by rank.
void fillRankOrderMenu(
    QMenu& menu, const std::vector<RankFigure>& figures, const QString& current,
    const std::function<void(const QString& name, const std::vector<RankId>& order)>& choose);

}  // namespace shardscope::desktop
