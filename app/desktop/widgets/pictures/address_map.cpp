#include "app/desktop/widgets/pictures/address_map.h"

#include "app/desktop/models/format.h"
#include "app/desktop/widgets/painting.h"
#include "app/desktop/widgets/pictures/address_raster.h"
#include "app/desktop/widgets/theme.h"

#include <QEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kLabels = 116;  ///< addresses, left of the rows
constexpr int kRows = 16;     ///< about as many
constexpr double kGapBetween = 4;
constexpr double kRoom = 304, kLowest = 3, kHighest = 17;
constexpr int kBelow = 20;  ///< what the scale is

QString addressText(std::uint64_t address) {
    return u"0x"_s + QString::number(address, 16);
}

}  // namespace

AddressMap::AddressMap(QWidget* parent) : QWidget(parent) {
    setMouseTracking(true);
    setLayoutDirection(Qt::LeftToRight);  // as it is painted, in every language
    setFocusPolicy(Qt::StrongFocus);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setMinimumWidth(240);
}

void AddressMap::setData(std::shared_ptr<const AddressData> map) {
    m_data = std::move(map);
    std::size_t blocks = 0;
    for (const AddressPart& part : parts()) blocks += part.blocks.size();
    m_spoken.setName(
        tr("Address space: %1 stretches with %2 blocks").arg(parts().size()).arg(blocks));
    QStringList words;
    if (!parts().empty())
        words << tr("from %1 to %2")
                     .arg(addressText(parts().front().begin), addressText(parts().back().end));
    words << tr("Left and Right go from block to block");
    m_spoken.setSummary(words.join(u"; "_s));
    m_spoken.setCurrent({});
    m_selected = -1;
    m_only.reset();
    layOut();
}

void AddressMap::showOnly(std::optional<std::size_t> part) {
    m_only = part;
    layOut();
}

void AddressMap::layOut() {
    const int wide = width() - kLabels;
    if (m_only) {
        const AddressPart& only = parts()[*m_only];
        m_laid = layOutAddresses({{only.begin, only.end, only.reserved, {}, {}}}, wide, kRows, 0);
        for (auto& row : m_laid.rows)
            for (AddressCell& cell : row) cell.part = *m_only;
    } else {
        m_laid = layOutAddresses(parts(), wide, kRows, kGapBetween);
    }
    const auto rows = static_cast<double>(std::max<std::size_t>(1, m_laid.rows.size()));
    m_rowHeight = std::clamp(std::floor(kRoom / rows), kLowest, kHighest);
    setFixedHeight(static_cast<int>(std::ceil(rows * m_rowHeight)) + 2 + kBelow);
    m_picture = {};
    update();
}

void AddressMap::selectBlock(int id) {
    m_selected = id;
    // what is picked is seen
    if (const auto place = placeOf(id); m_only && place && place->part != *m_only)
        showOnly(place->part);
    update();
}

QRectF AddressMap::rowArea(std::size_t row) const {
    const double between = m_rowHeight >= 8 ? 3 : m_rowHeight >= 5 ? 1 : 0;
    return {kLabels, 1 + static_cast<double>(row) * m_rowHeight,
            static_cast<double>(width() - kLabels), m_rowHeight - between};
}

std::optional<AddressHit> AddressMap::hitAt(QPointF at) const {
    const auto row = static_cast<std::size_t>(std::max(0.0, (at.y() - 1) / m_rowHeight));
    if (at.x() < kLabels || at.y() < 1 || row >= m_laid.rows.size()) return std::nullopt;
    const double x = at.x() - kLabels;
    for (const AddressCell& cell : m_laid.rows[row]) {
        if (x < cell.x || x >= std::max(cell.x + cell.width, cell.x + 1)) continue;
        const AddressPart& part = parts()[cell.part];
        // All that the pixel shows; what covers most of it is meant.
        const auto from = std::min(
            cell.end - 1, cell.begin + static_cast<std::uint64_t>(
                                           std::floor((x - cell.x) * m_laid.bytesPerPixel)));
        const auto to = std::max(
            from + 1, std::min(cell.end, from + static_cast<std::uint64_t>(m_laid.bytesPerPixel)));
        AddressHit hit;
        hit.part = cell.part;
        std::uint64_t most = 0;
        for (std::size_t i = part.firstBeyond(from);
             i < part.blocks.size() && part.blocks[i].begin < to; ++i) {
            const AddressBlock& block = part.blocks[i];
            const std::uint64_t covered = std::min(to, block.end) - std::max(from, block.begin);
            if (covered <= most) continue;
            most = covered;
            hit = {AddressHit::Kind::kBlock, block.id, block.begin, block.end, cell.part};
        }
        if (hit.kind == AddressHit::Kind::kBlock) return hit;
        hit.kind = part.reserved ? AddressHit::Kind::kLost : AddressHit::Kind::kBetween;
        const auto gap = part.firstFreeBeyond(from);
        if (gap != part.free.end() && gap->first < to)
            return AddressHit{AddressHit::Kind::kFree, -1, gap->first, gap->second, cell.part};
        return hit;
    }
    return std::nullopt;
}

std::optional<AddressMap::Place> AddressMap::placeOf(int id) const {
    for (std::size_t part = 0; part < parts().size(); ++part) {
        const auto& blocks = parts()[part].blocks;
        for (std::size_t i = 0; i < blocks.size(); ++i)
            if (blocks[i].id == id) return Place{part, i};
    }
    return std::nullopt;
}

std::vector<QRectF> AddressMap::areasOf(const AddressBlock& block, std::size_t part) const {
    std::vector<QRectF> areas;
    for (std::size_t row = 0; row < m_laid.rows.size(); ++row) {
        for (const AddressCell& cell : m_laid.rows[row]) {
            if (cell.part != part || block.begin >= cell.end || block.end <= cell.begin) continue;
            const auto x = [&](std::uint64_t address) {
                return cell.x + static_cast<double>(address - cell.begin) / m_laid.bytesPerPixel;
            };
            const double left = x(std::max(block.begin, cell.begin));
            const double right = x(std::min(block.end, cell.end));
            const QRectF area = rowArea(row);
            areas.emplace_back(area.left() + left, area.top(), std::max(1.0, right - left),
                               area.height());
        }
    }
    return areas;
}

QRectF AddressMap::areaOf(int id) const {
    const auto place = placeOf(id);
    if (!place) return {};
    const auto areas = areasOf(parts()[place->part].blocks[place->block], place->part);
    return areas.empty() ? QRectF() : areas.front();
}

QPixmap AddressMap::render() const {
    const double ratio = devicePixelRatioF();
    QPixmap picture((QSizeF(size()) * ratio).toSize().expandedTo({1, 1}));
    picture.setDevicePixelRatio(ratio);
    picture.fill(Qt::transparent);
    const AddressRaster raster(*m_data, m_laid.bytesPerPixel, Theme::of(this));
    QPainter painter(&picture);
    for (std::size_t row = 0; row < m_laid.rows.size(); ++row)
        raster.paintRow(painter, rowArea(row), m_laid.rows[row]);
    return picture;
}

void AddressMap::paintLabels(QPainter& painter) const {
    painter.setFont(codeFont(kSmallPixels - 1));
    painter.setPen(Theme::of(this).quietText);
    double free = -1;
    for (std::size_t row = 0; row < m_laid.rows.size(); ++row) {
        const QRectF area = rowArea(row);
        const double middle = area.center().y();
        if (m_laid.rows[row].empty() || middle - 7 < free) continue;
        painter.drawText(QRectF(0, middle - 8, kLabels - 8, 16), Qt::AlignLeft | Qt::AlignVCenter,
                         addressText(m_laid.rows[row].front().begin));
        free = middle + 7;
    }
    if (m_laid.rows.empty()) return;
    painter.setFont(textFont(kSmallPixels - 1));
    if (m_only)
        painter.drawText(QRectF(0, height() - 16, width() / 2.0, 16), Qt::AlignLeft,
                         tr("only this stretch; Esc: all"));
    const double row = m_laid.bytesPerPixel * static_cast<double>(width() - kLabels);
    drawTabular(painter, QRectF(kLabels, height() - 16, width() - kLabels, 16), Qt::AlignRight,
                tr("a whole row: %1, a pixel: %2")
                    .arg(formatBytes({std::llround(row)}),
                         formatBytes({std::max(1LL, std::llround(m_laid.bytesPerPixel))})));
}

void AddressMap::paintSelected(QPainter& painter) const {
    const auto place = placeOf(m_selected);
    if (!place) return;
    const Theme& theme = Theme::of(this);
    painter.setBrush(Qt::NoBrush);
    for (const QRectF& area : areasOf(parts()[place->part].blocks[place->block], place->part)) {
        painter.setPen(QPen(theme.window, 4));
        painter.drawRect(area.adjusted(-1, 0, 1, 0));
        painter.setPen(QPen(theme.accent, 2));
        painter.drawRect(area.adjusted(-1, 0, 1, 0));
    }
}

void AddressMap::paintEvent(QPaintEvent*) {
    if (m_picture.isNull()) m_picture = render();
    QPainter painter(this);
    painter.drawPixmap(0, 0, m_picture);
    paintLabels(painter);
    paintSelected(painter);
    if (hasFocus())
        paintFocus(painter, QRectF(rect()).adjusted(kLabels - 3, 0, -1, -kBelow), Theme::of(this));
}

void AddressMap::resizeEvent(QResizeEvent* event) {
    if (event->size().width() != event->oldSize().width()) layOut();
}

void AddressMap::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) m_picture = {};
}

void AddressMap::mouseMoveEvent(QMouseEvent* event) {
    Q_EMIT hovered(hitAt(event->position()));
}

void AddressMap::mousePressEvent(QMouseEvent* event) {
    const auto hit = hitAt(event->position());
    if (hit && hit->kind == AddressHit::Kind::kBlock) Q_EMIT blockPicked(hit->id);
}

void AddressMap::mouseDoubleClickEvent(QMouseEvent* event) {
    const auto hit = hitAt(event->position());
    if (m_only)
        showOnly(std::nullopt);
    else if (hit)
        showOnly(hit->part);
}

void AddressMap::leaveEvent(QEvent*) {
    Q_EMIT hovered(std::nullopt);
}

void AddressMap::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Right) return step(1);
    if (event->key() == Qt::Key_Left) return step(-1);
    if (event->key() == Qt::Key_Escape && m_only) return showOnly(std::nullopt);
    if (event->key() == Qt::Key_Z)
        if (const auto place = placeOf(m_selected)) return showOnly(place->part);
    QWidget::keyPressEvent(event);
}

/// To the next block by address, or the one before; from none to the first.
void AddressMap::step(int by) {
    auto place = placeOf(m_selected);
    if (!place) {
        for (const AddressPart& part : parts())
            if (!part.blocks.empty()) return Q_EMIT blockPicked(part.blocks.front().id);
        return;
    }
    auto part = static_cast<std::ptrdiff_t>(place->part);
    auto block = static_cast<std::ptrdiff_t>(place->block) + by;
    const auto blocksOf = [&](std::ptrdiff_t at) {
        return std::ssize(parts()[static_cast<std::size_t>(at)].blocks);
    };
    while (block < 0 || block >= blocksOf(part)) {
        part += by;
        if (part < 0 || part >= std::ssize(parts())) return;
        block = by > 0 ? 0 : blocksOf(part) - 1;
    }
    Q_EMIT blockPicked(
        parts()[static_cast<std::size_t>(part)].blocks[static_cast<std::size_t>(block)].id);
}

}  // namespace shardscope::desktop
