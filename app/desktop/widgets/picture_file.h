// A picture that was kept as it was drawn, as a PNG, SVG or PDF file. In SVG and PDF lines stay
// lines and text stays text. Any thread; needs no display.
#pragma once

#include "storage/model/result.h"

#include <QPicture>
#include <QSize>
#include <QString>
#include <QStringList>

class QPagedPaintDevice;

namespace shardscope::desktop {

struct DrawnPicture {
    QPicture picture;
    QSize size;  ///< in pixels
    QString title;
};

/// "a4", "a3", "letter": pages lie across.
[[nodiscard]] QStringList papers();
/// Endings of files that can be written: "png", "svg", "pdf".
[[nodiscard]] QStringList pictureFormats();
/// kUsage with a sentence where `path` has none of these endings, or there is no such paper.
Result<void> checkPictureFile(const QString& path, const QString& paper);
/// The size in which a page of that paper is composed.
[[nodiscard]] QSize pageSize(const QString& paper);

/// By the ending of `path`; `paper` is that of PDF files. kUsage as checkPictureFile() says,
/// kFailure where it cannot be written; what was there stays then.
Result<void> writePicture(const DrawnPicture& drawn, const QString& path, const QString& paper);

/// On a page of `printer`, as large as it fits. kFailure where it cannot be drawn on.
Result<void> printPicture(const DrawnPicture& drawn, QPagedPaintDevice& printer);

}  // namespace shardscope::desktop
