#include "app/desktop/pages/page.h"

#include "app/desktop/widgets/picture_file.h"
#include "app/desktop/widgets/theme.h"

#include <QPainter>
#include <QPicture>

namespace shardscope::desktop {

DrawnPicture Page::drawn(QSize, bool) {
    QPicture picture;
    QPainter painter(&picture);
    painter.fillRect(rect(), Theme::of(this).window);
    paintWidget(*this, painter, {});
    painter.end();
    return {picture, size(), windowTitle()};
}

}  // namespace shardscope::desktop
