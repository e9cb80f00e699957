#include "app/desktop/widgets/scrolling.h"

#include <QScrollBar>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

void hideIdleHandle(QScrollBar* bar) {
    const auto present = [bar](int, int maximum) {
        bar->setStyleSheet(maximum > 0 ? QString()
                                       : u"QScrollBar::handle { background: transparent; }"_s);
    };
    present(0, bar->maximum());
    QObject::connect(bar, &QScrollBar::rangeChanged, bar, present);
}

}  // namespace shardscope::desktop
