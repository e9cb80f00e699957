#include "app/desktop/pages/timeline/rank_order_menu.h"

#include <QMenu>

namespace shardscope::desktop {

void fillRankOrderMenu(
    QMenu& menu, const std::vector<RankFigure>& figures, const QString& current,
    const std::function<void(const QString& name, const std::vector<RankId>& order)>& choose) {
    menu.clear();
    const auto add = [&](const QString& text, const QString& name, std::vector<RankId> order) {
        QAction* entry = menu.addAction(text);
        entry->setCheckable(true);
        entry->setChecked(name == current);
        QObject::connect(entry, &QAction::triggered, &menu,
                         [choose, name, order = std::move(order)] { choose(name, order); });
    };
    add(QObject::tr("By rank"), {}, {});
    menu.addSeparator();
    for (const RankFigure& figure : figures)
        add(QObject::tr("Highest first: %1").arg(figure.name), figure.name, highestFirst(figure));
}

}  // namespace shardscope::desktop
