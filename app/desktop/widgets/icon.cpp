#include "app/desktop/widgets/icon.h"

#include <QFile>
#include <QPainter>
#include <QSvgRenderer>

namespace shardscope::desktop {

using namespace Qt::StringLiterals;

QPixmap iconPixmap(const QString& name, const QColor& colour, int pixels, double devicePixelRatio) {
    QFile file(u":/icons/%1.svg"_s.arg(name));
    if (!file.open(QIODevice::ReadOnly)) return {};
    QByteArray svg = file.readAll();
    svg.replace("currentColor", colour.name().toLatin1());
    QSvgRenderer renderer(svg);
    const int size = static_cast<int>(pixels * devicePixelRatio);
    QPixmap pixmap(size, size);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    renderer.render(&painter);
    painter.end();
    pixmap.setDevicePixelRatio(devicePixelRatio);
    return pixmap;
}

QIcon tintedIcon(const QString& name, const QColor& colour, int pixels) {
    QIcon icon;
    for (double ratio : {1.0, 1.5, 2.0}) icon.addPixmap(iconPixmap(name, colour, pixels, ratio));
    return icon;
}

}  // namespace shardscope::desktop
