#include "app/desktop/pages/dashboard/dashboard_sheet.h"

#include "app/desktop/models/format.h"
#include "app/desktop/models/time_scale.h"
#include "app/desktop/widgets/chart_panel.h"
#include "app/desktop/widgets/legend.h"
#include "app/desktop/widgets/pictures/column_chart.h"
#include "app/desktop/widgets/pictures/span_rows.h"
#include "app/desktop/widgets/pictures/stacked_bars.h"
#include "app/desktop/widgets/text_label.h"
#include "app/desktop/widgets/theme.h"

#include <QGridLayout>
#include <QLabel>
#include <QLayout>
#include <QPainter>
#include <QPicture>
#include <QVBoxLayout>
#include <algorithm>
#include <memory>
#include <utility>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;

constexpr int kTileWidth = 340;  ///< at least
constexpr int kTileHeight = 232;
constexpr int kMostColumns = 4;
constexpr int kBarLabels = 88;
/// Of a chart, that the title's line has no room for.
constexpr std::size_t kManyLines = 3;

StackedBars::Axis axisOf(const BarsTile& tile) {
    if (tile.unit == BarUnit::kBytes)
        return {
            u"memory"_s, [](double most, int ticks) { return binaryTicks(most, ticks); },
            [](double value, double) { return formatBytes({static_cast<std::int64_t>(value)}); }};
    const auto ticks = [](double most, int count) { return niceTicks(0, most, count); };
    if (tile.unit == BarUnit::kCount)
        return {tile.axis, ticks, [](double value, double) { return formatSi(value, {}); }};
    return {tile.axis, ticks, formatTick};
}

/// A widget for each kind of tile; the tile's own title above it, unless the widget has one.
class TileMaker {
public:
    explicit TileMaker(DashboardSheet& sheet, const DashboardTile& tile)
        : m_sheet(sheet), m_tile(tile) {}

    QWidget* operator()(const ChartTile& chart) {
        auto* panel = new ChartPanel(&m_sheet);
        panel->setTitles(m_tile.title, chart.unit, chart.bottom);
        panel->setDefinition(m_tile.definition);
        panel->setEmptyText(chart.absent);
        panel->setWholeNumbers(chart.whole);
        panel->setStartsAtZero(chart.startsAtZero);
        panel->setLogarithmic(chart.logarithmic, chart.logarithmic);
        panel->setSeries(chart.lines);
        panel->setHistogram(chart.histogram);
        panel->setMarks(chart.marks, chart.targets);
        if (chart.lines.size() < kManyLines) return panel;
        panel->setNamed(false);
        auto* block = new QWidget(&m_sheet);
        auto* layout = new QVBoxLayout(block);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->setSpacing(kGapSmall);
        layout->addWidget(panel, 1);
        addLegend(entriesOf(chart.lines), *block);
        return block;
    }
    QWidget* operator()(const BarsTile& tile) {
        auto* bars = new StackedBars(&m_sheet);
        bars->setLabelWidth(kBarLabels);
        bars->setAxis(axisOf(tile));
        bars->setBars(tile.bars);
        QObject::connect(bars, &StackedBars::hovered, &m_sheet, &DashboardSheet::hovered);
        return titled(bars, tile.legend, false);
    }
    QWidget* operator()(const ColumnsTile& tile) {
        auto* columns = new ColumnChart(&m_sheet);
        columns->setTitles(u"ms"_s, u"step"_s);
        columns->setColumns(tile.columns);
        return titled(columns, tile.legend, true);
    }
    QWidget* operator()(const GaugesTile& tile) {
        auto* gauges = new Gauges(&m_sheet);
        gauges->setGauges(tile.gauges);
        return titled(gauges, {}, true);
    }
    QWidget* operator()(const FlowTile& tile) {
        auto* rows = new SpanRows(&m_sheet);
        rows->setRows(tile.rows, tile.end, u"ms"_s);
        QObject::connect(rows, &SpanRows::hovered, &m_sheet, &DashboardSheet::hovered);
        return titled(rows, {}, true);
    }
    QWidget* operator()(const AbsentTile& tile) {
        auto* why = quietLabel(tile.why, &m_sheet);
        why->setAlignment(Qt::AlignCenter);
        return titled(why, {}, true);
    }

private:
    QWidget* titled(QWidget* picture, const std::vector<LegendEntry>& legend, bool fills) {
        auto* block = new QWidget(&m_sheet);
        auto* layout = new QVBoxLayout(block);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->setSpacing(kGapSmall);
        auto* title = sectionLabel(m_tile.title, block);
        title->setToolTip(m_tile.definition);
        layout->addWidget(title);
        picture->setAccessibleName(m_tile.title);
        layout->addWidget(picture, fills ? 1 : 0);
        if (!legend.empty()) addLegend(legend, *block);
        if (!fills) layout->addStretch(1);
        return block;
    }

    static std::vector<LegendEntry> entriesOf(const std::vector<LineSeries>& lines) {
        std::vector<LegendEntry> entries;
        for (const LineSeries& line : lines)
            entries.push_back({line.name, line.meaning, line.dashed});
        return entries;
    }
    static void addLegend(const std::vector<LegendEntry>& entries, QWidget& block) {
        auto* legend = new Legend(&block);
        legend->setEntries(entries);
        block.layout()->addWidget(legend);
    }

    DashboardSheet& m_sheet;
    const DashboardTile& m_tile;
};

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

DashboardSheet::DashboardSheet(QWidget* parent)
    : QWidget(parent),
      m_title(headlineLabel({}, this)),
      m_summary(quietLabel({}, this)),
      m_notes(quietLabel({}, this)),
      m_grid(new QGridLayout) {
    setAccessibleName(tr("Dashboard"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(kGapSmall);
    layout->addWidget(m_title);
    layout->addWidget(m_summary);
    layout->addWidget(m_notes);
    layout->addSpacing(kGap);
    m_grid->setHorizontalSpacing(kGapPage);
    m_grid->setVerticalSpacing(kGapGroup);
    layout->addLayout(m_grid, 1);
}

void DashboardSheet::setDashboard(const DashboardPtr& dashboard) {
    m_dashboard = dashboard;
    for (QWidget* tile : m_tiles) tile->deleteLater();
    for (QWidget* tile : m_tiles) tile->hide();
    m_tiles.clear();
    m_placed = 0;
    if (!dashboard) return;
    m_title->setText(dashboard->title);
    m_summary->setText(dashboard->summary);
    // what a window says of the recording elsewhere is said on paper too
    const QString notes =
        (m_titled ? dashboard->notes + u' ' + dashboard->leftOut : dashboard->leftOut).trimmed();
    m_notes->setText(notes);
    m_notes->setVisible(!notes.isEmpty());
    for (const DashboardTile& tile : dashboard->tiles) {
        m_tiles.push_back(std::visit(TileMaker(*this, tile), tile.content));
        m_tiles.back()->show();
    }
    place();
}

void DashboardSheet::hideTitle() {
    m_titled = false;
    for (QLabel* line : {m_title, m_summary}) line->hide();
}

void DashboardSheet::setColumns(int columns) {
    m_columns = columns;
    place();
}

int DashboardSheet::columnsHere() const {
    return m_columns > 0 ? m_columns
                         : std::clamp(width() / (kTileWidth + kGapPage), 1, kMostColumns);
}

void DashboardSheet::place() {
    const int columns = columnsHere();
    if (columns == m_placed || m_tiles.empty()) return;
    for (QWidget* tile : m_tiles) m_grid->removeWidget(tile);
    for (int i = 0; i < kMostColumns; ++i) m_grid->setColumnStretch(i, i < columns ? 1 : 0);
    for (int row = 0; row < m_grid->rowCount(); ++row) m_grid->setRowMinimumHeight(row, 0);
    for (int i = 0; i < tileCount(); ++i) m_grid->setRowMinimumHeight(i / columns, kTileHeight);
    for (int i = 0; i < tileCount(); ++i)
        m_grid->addWidget(m_tiles[static_cast<std::size_t>(i)], i / columns, i % columns);
    m_placed = columns;
}

void DashboardSheet::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    place();
}

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
