#include "app/desktop/pages/dashboard/dashboard_drawing.h"

#include "app/desktop/pages/dashboard/dashboard_sheet.h"
#include "app/desktop/widgets/theme.h"

#include <QLayout>
#include <QPainter>
#include <QPicture>
#include <algorithm>
#include <memory>
#include <utility>

namespace shardscope::desktop {
namespace {

constexpr int kMargin = 32;
constexpr int kColumns = 4;

QPicture draw(DashboardSheet& sheet, QSize size, const Theme& theme) {
    QPicture picture;
    QPainter painter(&picture);
    const double scale = std::min(static_cast<double>(size.width()) / sheet.width(),
                                  static_cast<double>(size.height()) / sheet.height());
    painter.fillRect(QRect({}, size), theme.window);
    painter.scale(scale, scale);
    sheet.render(&painter, {}, {}, QWidget::DrawChildren);
    painter.end();
    return picture;
}

/// What stands on titles under a pointer: on paper there is none.
DashboardPtr withoutHelp(Dashboard dashboard) {
    for (DashboardTile& tile : dashboard.tiles) tile.definition.clear();
    return std::make_shared<const Dashboard>(std::move(dashboard));
}

/// What has room for all of it, in the shape of `size`.
QSize composedSize(QSize size, QSize least) {
    const QSize composed = size.expandedTo(least);
    return composed.scaled(size, Qt::KeepAspectRatio) == size
               ? composed
               : size.scaled(composed, Qt::KeepAspectRatioByExpanding);
}

}  // namespace

DrawnPicture drawDashboard(const DashboardPtr& dashboard, QSize size, bool dark) {
    const Theme& theme = dark ? Theme::darkTheme() : Theme::light();
    DashboardSheet sheet;
    sheet.setPalette(theme.palette());
    sheet.setColumns(kColumns);
    sheet.layout()->setContentsMargins(kMargin, kMargin, kMargin, kMargin);
    sheet.setDashboard(withoutHelp(*dashboard));
    sheet.resize(composedSize(size, sheet.minimumSizeHint()));
    // as if it were shown: laid out, with the fonts and colours that it gets
    sheet.setAttribute(Qt::WA_DontShowOnScreen);
    sheet.show();
    return {draw(sheet, size, theme), size, dashboard->title};
}

}  // namespace shardscope::desktop
