// A picture that was kept as it was drawn, as a PNG, SVG or PDF file. In SVG and PDF lines stay
// lines and text stays text. Any thread; needs no display.
#pragma once

#include "app/desktop/models/write_file.h"
#include "storage/model/result.h"

#include <QPicture>
#include <QPoint>
#include <QSize>
#include <QString>
#include <QStringList>

class QPagedPaintDevice;
class QPainter;
class QWidget;

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

/// What may be done with a file of that name: only a picture of its kind, by content, is replaced.
[[nodiscard]] storage::OutputRequest pictureOutput(const QString& path, bool overwrite);
/// By the ending of `path`; `paper` is that of PDF files. Errors as checkPictureFile() and
/// storage::writeOutput() of pictureOutput() have them; what was there stays then.
Result<void> writePicture(const DrawnPicture& drawn, const QString& path, const QString& paper,
                          bool overwrite);

/// On a page of `printer`, as large as it fits. kFailure where it cannot be drawn on.
Result<void> printPicture(const DrawnPicture& drawn, QPagedPaintDevice& printer);

// Widgets as lines and text on any painter. GUI thread.

/// `widget` and all that is seen in it, its upper left corner at `at`. No scroll bar; what scrolls
/// is drawn as far as it is in sight, in pixels, since not every file of pictures knows clipping.
void paintWidget(QWidget& widget, QPainter& painter, QPoint at);

}  // namespace shardscope::desktop
