// Our stroke icons (resources/icons), tinted for the palette. GUI thread.
#pragma once

#include <QColor>
#include <QIcon>
#include <QPixmap>
#include <QString>

namespace shardscope::desktop {

/// `name` is a file of resources/icons without ".svg".
[[nodiscard]] QPixmap iconPixmap(const QString& name, const QColor& colour, int pixels,
                                 double devicePixelRatio);
[[nodiscard]] QIcon tintedIcon(const QString& name, const QColor& colour, int pixels = 16);

}  // namespace shardscope::desktop
