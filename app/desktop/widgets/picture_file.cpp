#include "app/desktop/widgets/picture_file.h"

#include "app/desktop/widgets/theme.h"
#include "app/manual/sheet_words.h"
#include "storage/model/plain_text.h"

#include <QAbstractScrollArea>
#include <QBuffer>
#include <QFile>
#include <QFileInfo>
#include <QImage>
#include <QPageLayout>
#include <QPainter>
#include <QPdfWriter>
#include <QPixmap>
#include <QScrollBar>
#include <QSvgGenerator>
#include <algorithm>
#include <array>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kAcross = 1600;  ///< pixels that a sheet is composed in
constexpr double kSharp = 2;   ///< pixels of a PNG file a pixel of the sheet
constexpr int kDots = 96;      ///< an inch
constexpr double kPaperMarginMm = 8;
constexpr qint64 kFront = 4096;  ///< bytes that identify the format of a file

struct Paper {
    const char* name;
    QPageSize::PageSizeId id;
};
constexpr std::array kPapers{Paper{manual::kPapers[0], QPageSize::A4},
                             Paper{manual::kPapers[1], QPageSize::A3},
                             Paper{manual::kPapers[2], QPageSize::Letter}};
static_assert(kPapers.size() == manual::kPapers.size());

const Paper* findPaper(const QString& name) {
    const auto paper = std::find_if(kPapers.begin(), kPapers.end(), [&](const Paper& each) {
        return name == QLatin1String(each.name);
    });
    return paper == kPapers.end() ? nullptr : &*paper;
}

QPageLayout layoutOf(const QString& paper) {
    const Paper* known = findPaper(paper);
    return {QPageSize(known != nullptr ? known->id : QPageSize::A4), QPageLayout::Landscape,
            QMarginsF(kPaperMarginMm, kPaperMarginMm, kPaperMarginMm, kPaperMarginMm),
            QPageLayout::Millimeter};
}

/// The picture as large as it fits into `area`.
void play(QPainter& painter, const DrawnPicture& drawn, const QRectF& area) {
    const double scale =
        std::min(area.width() / drawn.size.width(), area.height() / drawn.size.height());
    painter.setRenderHint(QPainter::Antialiasing);
    painter.translate(area.topLeft());
    painter.scale(scale, scale);
    painter.drawPicture(QPointF(), drawn.picture);
}

QByteArray asPng(const DrawnPicture& drawn) {
    QImage image(drawn.size * kSharp, QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    play(painter, drawn, QRectF({}, QSizeF(image.size())));
    painter.end();
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    return image.save(&buffer, "PNG") ? bytes : QByteArray();
}

QByteArray asSvg(const DrawnPicture& drawn) {
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    QSvgGenerator svg;
    svg.setOutputDevice(&buffer);
    svg.setSize(drawn.size);
    svg.setViewBox(QRect({}, drawn.size));
    svg.setResolution(kDots);
    QPainter painter(&svg);
    play(painter, drawn, QRectF({}, QSizeF(drawn.size)));
    painter.end();
    // Not all versions of Qt escape it.
    bytes.insert(bytes.indexOf('>', bytes.indexOf("<svg")) + 1,
                 "\n<title>" + drawn.title.toHtmlEscaped().toUtf8() + "</title>");
    // Qt writes control characters as they are, which XML does not allow.
    return QByteArray::fromStdString(printable(bytes.toStdString()));
}

QByteArray asPdf(const DrawnPicture& drawn, const QString& paper) {
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    QPdfWriter pdf(&buffer);
    pdf.setTitle(drawn.title);
    pdf.setResolution(kDots);  // that pictures were kept in: others would scale them once more
    pdf.setPageLayout(layoutOf(paper));
    QPainter painter(&pdf);
    play(painter, drawn, painter.viewport());
    painter.end();
    return bytes;
}

QByteArray frontOf(const std::string& path) {
    QFile file(QFile::decodeName(path.c_str()));
    return file.open(QIODevice::ReadOnly) ? file.read(kFront) : QByteArray();
}

bool isPng(const std::string& path) {
    return frontOf(path).startsWith("\x89PNG\r\n\x1a\n");
}

bool isPdf(const std::string& path) {
    return frontOf(path).startsWith("%PDF-");
}

/// Declaration, comments and a document type may stand in front.
/// Its first element, behind declarations and comments.
bool isSvg(const std::string& path) {
    QByteArray front = frontOf(path).trimmed();
    while (front.startsWith("<?") || front.startsWith("<!")) {
        const QByteArray end = front.startsWith("<!--") ? "-->" : ">";
        const qsizetype at = front.indexOf(end);
        if (at < 0) return false;
        front = front.mid(at + end.size()).trimmed();
    }
    return front.startsWith("<svg");
}

constexpr int kFine = 2;  ///< pixels for each of the screen

bool reaches(const QScrollBar* bar) {
    return bar != nullptr && bar->maximum() > bar->minimum();
}

/// Of something that is larger than what is in sight of it.
bool isCut(const QWidget& widget) {
    const auto* area = qobject_cast<const QAbstractScrollArea*>(widget.parentWidget());
    return area != nullptr && area->viewport() == &widget &&
           (reaches(area->horizontalScrollBar()) || reaches(area->verticalScrollBar()));
}

void paintPixels(QWidget& widget, QPainter& painter, QPoint at) {
    QPixmap pixels(widget.size() * kFine);
    pixels.setDevicePixelRatio(kFine);
    pixels.fill(Theme::of(&widget).window);
    widget.render(&pixels, {}, {}, QWidget::DrawChildren);
    painter.drawPixmap(QRect(at, widget.size()), pixels);
}

}  // namespace

QStringList papers() {
    QStringList names;
    for (const Paper& paper : kPapers) names << QString::fromLatin1(paper.name);
    return names;
}

QStringList pictureFormats() {
    return {u"png"_s, u"svg"_s, u"pdf"_s};
}

Result<void> checkPictureFile(const QString& path, const QString& paper) {
    if (!pictureFormats().contains(QFileInfo(path).suffix().toLower()))
        return failure(ErrorCode::kUsage, path.toStdString() +
                                              ": give the picture a name that ends in ." +
                                              pictureFormats().join(u", ."_s).toStdString() + ".");
    if (findPaper(paper) == nullptr)
        return failure(ErrorCode::kUsage, "there is no paper size " + paper.toStdString() +
                                              ", but " + papers().join(u", "_s).toStdString() +
                                              ".");
    return {};
}

QSize pageSize(const QString& paper) {
    const QRectF area = layoutOf(paper).paintRect(QPageLayout::Millimeter);
    return {kAcross, static_cast<int>(std::lround(kAcross * area.height() / area.width()))};
}

Result<void> printPicture(const DrawnPicture& drawn, QPagedPaintDevice& printer) {
    QPainter painter;
    if (!painter.begin(&printer))
        return failure(ErrorCode::kFailure,
                       "the printer does not respond; is it connected and switched on?");
    // The picture was kept in dots of a screen, and would be scaled by those of the printer.
    const double scale = static_cast<double>(kDots) / printer.logicalDpiX();
    const QRectF area = painter.viewport();
    painter.scale(1 / scale, 1 / scale);
    play(painter, drawn, {area.topLeft() * scale, area.size() * scale});
    return {};
}

storage::OutputRequest pictureOutput(const QString& path, bool overwrite) {
    const QString format = QFileInfo(path).suffix().toLower();
    const storage::Replaceable kind =
        format == u"png"_s   ? storage::Replaceable{"a PNG picture", isPng}
        : format == u"svg"_s ? storage::Replaceable{"an SVG picture", isSvg}
                             : storage::Replaceable{"a PDF file", isPdf};
    return {systemPath(path), overwrite, kind};
}

Result<void> writePicture(const DrawnPicture& drawn, const QString& path, const QString& paper,
                          bool overwrite) {
    if (auto checked = checkPictureFile(path, paper); !checked) return checked;
    const QString format = QFileInfo(path).suffix().toLower();
    const QByteArray bytes = format == u"png"_s   ? asPng(drawn)
                             : format == u"svg"_s ? asSvg(drawn)
                                                  : asPdf(drawn, paper);
    if (bytes.isEmpty())
        return failure(ErrorCode::kFailure,
                       path.toStdString() + " could not be written: there is no memory for it");
    return writeFile(pictureOutput(path, overwrite), bytes);
}

void paintWidget(QWidget& widget, QPainter& painter, QPoint at) {
    if (widget.size().isEmpty()) return;
    if (isCut(widget)) return paintPixels(widget, painter, at);
    widget.render(&painter, at, QRegion(widget.rect()), QWidget::RenderFlags());
    for (QObject* each : widget.children()) {
        auto* child = qobject_cast<QWidget*>(each);
        if (child == nullptr || child->isWindow() || child->isHidden()) continue;
        if (qobject_cast<QScrollBar*>(child) == nullptr)
            paintWidget(*child, painter, at + child->pos());
    }
}

}  // namespace shardscope::desktop
