#include "app/desktop/widgets/pictures/address_raster.h"

#include <QBrush>
#include <QPaintDevice>
#include <algorithm>
#include <cmath>

namespace shardscope::desktop {
namespace {

constexpr int kDarker = 128;                              ///< per cent
constexpr float kFaintest = 0.3F, kMostlyCovered = 0.5F;  ///< shares of a column
constexpr double kSeparated = 3;                          ///< blocks wider than this have an edge

/// What covers each column of a row, and which colour most of it. Cost follows blocks and pixels.
class Columns {
public:
    explicit Columns(double width)
        : m_columns(static_cast<std::size_t>(std::max(1.0, std::ceil(width)))) {}

    void add(double from, double to, std::size_t colour) {
        const auto last = static_cast<double>(m_columns.size());
        from = std::clamp(from, 0.0, last);
        to = std::clamp(to, 0.0, last);
        auto column = static_cast<std::size_t>(from);
        for (double at = from; at < to; ++column) {
            const double end = std::min(to, static_cast<double>(column) + 1);
            const auto share = static_cast<float>(end - at);
            Column& each = m_columns[std::min(column, m_columns.size() - 1)];
            each.covered += share;
            if (share > each.most) {
                each.most = share;
                each.colour = colour;
            }
            at = end;
        }
    }
    /// `paint(x, width, colour, covered)` of columns that are alike and not empty.
    template <class Paint>
    void forEachRun(Paint paint) const {
        for (std::size_t i = 0; i < m_columns.size();) {
            std::size_t next = i + 1;
            while (next < m_columns.size() && m_columns[next] == m_columns[i]) ++next;
            if (m_columns[i].most > 0)
                paint(static_cast<double>(i), static_cast<double>(next - i), m_columns[i].colour,
                      m_columns[i].covered);
            i = next;
        }
    }

private:
    struct Column {
        float covered = 0, most = 0;
        std::size_t colour = 0;
        friend bool operator==(const Column& a, const Column& b) {
            return a.covered == b.covered && a.colour == b.colour && (a.most > 0) == (b.most > 0);
        }
    };
    std::vector<Column> m_columns;
};

}  // namespace

AddressPalette::AddressPalette(const AddressData& data, const Theme& theme) {
    for (std::size_t i = 0; i < kPlain; ++i)
        m_colours.push_back(theme.fill(static_cast<Meaning>(i)).colour);
    // shades of a light colour must not fade into the ground
    const QColor base = theme.fill(data.shaded).colour;
    for (const QString& shade : data.shades)
        m_colours.push_back(shadeFor(theme.dark ? base : base.darker(kDarker), shade));
}

void AddressRaster::paintRow(QPainter& painter, const QRectF& area,
                             const std::vector<AddressCell>& row) const {
    // columns are those of the screen, which has more than pixels where it is scaled
    const double fine = painter.device()->devicePixelRatioF();
    Columns blocks(area.width() * fine), gaps(area.width() * fine);
    std::vector<double> edges;
    const auto fill = [&](double x, double wide, const QBrush& brush) {
        painter.fillRect(QRectF(area.left() + x, area.top(), wide, area.height()), brush);
    };
    for (const AddressCell& cell : row) {
        const AddressPart& part = m_data.parts[cell.part];
        const auto x = [&](std::uint64_t address) {
            const std::uint64_t within = std::clamp(address, cell.begin, cell.end);
            return cell.x + static_cast<double>(within - cell.begin) / m_bytesPerPixel;
        };
        if (part.reserved) fill(cell.x, std::max(1.0, cell.width), m_theme.panel);
        for (auto gap = part.firstFreeBeyond(cell.begin);
             gap != part.free.end() && gap->first < cell.end; ++gap)
            gaps.add(x(gap->first) * fine, x(gap->second) * fine, 0);
        for (std::size_t i = part.firstBeyond(cell.begin);
             i < part.blocks.size() && part.blocks[i].begin < cell.end; ++i) {
            const AddressBlock& block = part.blocks[i];
            const double left = x(block.begin), right = x(block.end);
            blocks.add(left * fine, right * fine, AddressPalette::placeOf(block));
            if (right - left > kSeparated && block.end <= cell.end) edges.push_back(right);
        }
    }
    gaps.forEachRun([&](double at, double wide, std::size_t, float) {
        fill(at / fine, wide / fine, QBrush(m_theme.quietText, Qt::BDiagPattern));
    });
    blocks.forEachRun([&](double at, double wide, std::size_t place, float covered) {
        if (covered > kMostlyCovered) fill(at / fine, wide / fine, m_theme.window);
        QColor colour = m_palette.colour(place);
        colour.setAlphaF(std::clamp(covered, kFaintest, 1.0F));
        fill(at / fine, wide / fine, colour);
    });
    for (const double edge : edges) fill(std::ceil(edge) - 1, 1, m_theme.window);
}

}  // namespace shardscope::desktop
