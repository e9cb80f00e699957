#include "app/desktop/widgets/chart_plot.h"

#include "app/desktop/widgets/painting.h"

#include <QtCharts/QAreaSeries>
#include <QtCharts/QBarSeries>
#include <QtCharts/QBarSet>
#include <QtCharts/QChart>
#include <QtCharts/QHorizontalStackedBarSeries>
#include <QtCharts/QLineSeries>
#include <QtCharts/QLogValueAxis>
#include <QtCharts/QScatterSeries>
#include <QtCharts/QStackedBarSeries>
#include <QtCharts/QValueAxis>

#include <QGraphicsLayout>
#include <QGraphicsScene>
#include <QPaintEngine>
#include <QPixmap>
#include <cmath>
#include <map>

namespace shardscope::desktop {
namespace {

/// Round a plot, so that dots and line ends at its edge are whole: Qt Charts cuts them off at its
/// own edge.
constexpr double kMargin = 5;

AxisRange withMargin(const AxisRange& range, double length) {
    return {range.value(-kMargin, length), range.value(length + kMargin, length),
            range.logarithmic};
}

/// Scales alone: an axis that is drawn lays out its labels whenever its range changes.
QAbstractAxis* makeAxis(const AxisRange& range) {
    QAbstractAxis* axis = nullptr;
    if (range.logarithmic) {
        auto* logarithmic = new QLogValueAxis;
        logarithmic->setBase(10);
        axis = logarithmic;
    } else {
        auto* linear = new QValueAxis;
        linear->setTickCount(2);
        axis = linear;
    }
    axis->setLabelsVisible(false);
    axis->setGridLineVisible(false);
    axis->setLineVisible(false);
    axis->setVisible(false);
    axis->setRange(range.low, range.high);
    return axis;
}

QBrush brushOf(const Fill& fill, const Theme& theme) {
    if (!fill.hatched) return fill.colour;
    constexpr int kTile = 6;
    QPixmap tile(kTile * 2, kTile * 2);
    tile.setDevicePixelRatio(2);
    tile.fill(Qt::transparent);
    QPainter painter(&tile);
    paintFill(painter, QRectF(0, 0, kTile, kTile), fill, theme);
    return QBrush(tile);
}

QVector<QPointF> drawable(const QVector<QPointF>& points, const AxisRange& horizontal,
                          const AxisRange& vertical) {
    QVector<QPointF> kept;
    kept.reserve(points.size());
    for (const QPointF& point : points) {
        if (!std::isfinite(point.y()) || (vertical.logarithmic && point.y() <= 0) ||
            (horizontal.logarithmic && point.x() <= 0))
            continue;
        kept.push_back(point);
    }
    return kept;
}

}  // namespace

QColor lineColour(const Theme& theme, Meaning meaning) {
    if (theme.dark && meaning == Meaning::kCompute) return theme.accent;
    return theme.fill(meaning).line();
}

constexpr double kBarShare = 0.92;  ///< of a histogram's column
constexpr double kDotSize = 7;

/// Without bars and dots.
ChartContent linesOf(ChartContent content) {
    content.histogram.reset();
    std::erase_if(content.lines,
                  [](const LineSeries& line) { return !line.joined || line.points.size() < 2; });
    for (LineSeries& line : content.lines) line.dots = false;
    return content;
}

struct ChartPlot::Scene {
    QGraphicsScene scene;
    QChart* chart = new QChart;  // the scene's
    QAbstractAxis* horizontal = nullptr;
    QAbstractAxis* vertical = nullptr;
    QPixmap picture;
    ChartContent shown;
    AxisRange wantedAcross, wantedUp;
    AxisRange across, up;             ///< these with the margin
    std::vector<QLineSeries*> lines;  ///< the chart's
    AxisRange madeAcross, madeUp;     ///< what the axes were made for
    const Theme* look = &Theme::light();
    bool changed = true;

    Scene() {
        scene.setItemIndexMethod(QGraphicsScene::NoIndex);
        chart->legend()->hide();
        chart->setBackgroundVisible(false);
        chart->setPlotAreaBackgroundVisible(false);
        chart->setMargins({});
        chart->layout()->setContentsMargins(0, 0, 0, 0);
        scene.addItem(chart);
    }

    void clear() {
        lines.clear();
        chart->removeAllSeries();
        for (QAbstractAxis* axis : chart->axes()) {
            chart->removeAxis(axis);
            delete axis;
        }
    }
    void useAxes(const AxisRange& h, const AxisRange& v) {
        horizontal = makeAxis(h);
        vertical = makeAxis(v);
        chart->addAxis(horizontal, Qt::AlignBottom);
        chart->addAxis(vertical, Qt::AlignLeft);
    }
    void add(QAbstractSeries* series) {
        chart->addSeries(series);
        series->attachAxis(horizontal);
        series->attachAxis(vertical);
    }
    void addBand(const BandSeries& band, const Theme& theme) {
        auto* low = new QLineSeries;
        auto* high = new QLineSeries;
        auto* area = new QAreaSeries(high, low);
        low->setParent(area);
        high->setParent(area);
        QColor colour = lineColour(theme, band.meaning);
        colour.setAlphaF(0.2F);
        area->setBrush(colour);
        area->setPen(Qt::NoPen);
        add(area);
        low->replace(band.low);
        high->replace(band.high);
    }
    [[nodiscard]] QPen penOf(const LineSeries& line, qsizetype points) const {
        QColor colour = lineColour(*look, line.meaning);
        if (line.pale) colour.setAlphaF(0.32F);
        // pens up to one pixel are drawn three times as fast, and a dense line needs no more
        const bool dense = static_cast<double>(points) > picture.width() / 3.0;
        return {colour, line.pale || dense ? 1.0 : 1.6, line.dashed ? Qt::DashLine : Qt::SolidLine,
                Qt::SquareCap, Qt::RoundJoin};
    }
    /// Points come last: every change of axes or size strokes a line's whole shape once more.
    void addLine(const LineSeries& line, const QVector<QPointF>& points) {
        const QPen pen = penOf(line, points.size());
        if (line.joined && points.size() > 1) {
            auto* series = new QLineSeries;
            series->setPen(pen);
            add(series);
            series->replace(points);
            lines.push_back(series);
        }
        if (!line.dots && line.joined && points.size() > 1) return;
        auto* dots = new QScatterSeries;
        dots->setMarkerSize(kDotSize);
        dots->setBrush(line.joined ? look->window : pen.color());
        dots->setPen(QPen(pen.color(), 1.6));
        add(dots);
        dots->replace(points);
    }
    /// New points into the lines that are there; false: the chart has to be made again.
    bool refill() {
        if (!shown.bands.empty() || shown.histogram || !shown.stack.empty() || lines.empty() ||
            lines.size() != shown.lines.size() ||
            static_cast<std::size_t>(chart->series().size()) != shown.lines.size())
            return false;
        QVector<QVector<QPointF>> points;
        for (const LineSeries& line : shown.lines) {
            points.push_back(drawable(line.points, across, up));
            if (!line.joined || line.dots || points.back().size() < 2) return false;
        }
        for (QLineSeries* line : lines) line->replace(QList<QPointF>());
        horizontal->setRange(across.low, across.high);
        vertical->setRange(up.low, up.high);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            const auto at = static_cast<qsizetype>(i);
            lines[i]->setPen(penOf(shown.lines[i], points[at].size()));
            lines[i]->replace(points[at]);
        }
        return true;
    }
    /// Bars stand at 0, 1, 2...: an axis of their own puts them where their values are.
    void addHistogram(const Histogram& histogram, const AxisRange& h, const Theme& theme) {
        auto* set = new QBarSet(QString{});
        for (const double count : histogram.counts) *set << count;
        set->setBrush(lineColour(theme, histogram.meaning));
        set->setPen(Qt::NoPen);
        auto* series = new QBarSeries;
        series->setBarWidth(kBarShare);
        series->append(set);
        const auto place = [&](double x) { return (x - histogram.low) / histogram.width - 0.5; };
        QAbstractAxis* places = makeAxis({place(h.low), place(h.high)});
        chart->addAxis(places, Qt::AlignBottom);
        chart->addSeries(series);
        series->attachAxis(places);
        series->attachAxis(vertical);
    }
    void addStack(const ChartContent& content, const Theme& theme) {
        QAbstractBarSeries* series =
            content.horizontal ? static_cast<QAbstractBarSeries*>(new QHorizontalStackedBarSeries)
                               : new QStackedBarSeries;
        series->setBarWidth(content.horizontal ? 0.75 : 0.9);
        std::size_t sets = 0;
        for (const StackedBar& bar : content.stack) sets = std::max(sets, bar.segments.size());
        for (std::size_t i = 0; i < sets; ++i) {
            auto* set = new QBarSet(QString{});
            set->setPen(Qt::NoPen);
            for (const StackedBar& bar : content.stack) {
                *set << (i < bar.segments.size() ? bar.segments[i].value : 0);
                if (i < bar.segments.size())
                    set->setBrush(brushOf(theme.fill(bar.segments[i].meaning), theme));
            }
            series->append(set);
        }
        add(series);
    }
    void fill() {
        for (const BandSeries& band : shown.bands) addBand(band, *look);
        if (shown.histogram) addHistogram(*shown.histogram, across, *look);
        if (!shown.stack.empty()) addStack(shown, *look);
        for (const LineSeries& line : shown.lines) {
            const auto points = drawable(line.points, across, up);
            if (!points.isEmpty()) addLine(line, points);
        }
    }
    void make(const QSizeF& outer) {
        clear();
        scene.setSceneRect(QRectF({}, outer));
        chart->setGeometry(QRectF({}, outer));
        chart->setPlotArea(QRectF({}, outer));
        useAxes(across, up);
        chart->layout()->activate();
        fill();
        madeAcross = across;
        madeUp = up;
    }
    void draw(QPainter& painter, const QRectF& area);
    void drawBars(QPainter& painter, const QRectF& area) const;
    void drawDots(QPainter& painter, const QRectF& area, const LineSeries& line) const;
    void render(const QSizeF& size, double ratio) {
        across = withMargin(wantedAcross, size.width());
        up = withMargin(wantedUp, size.height());
        const QSizeF outer = size + QSizeF(2 * kMargin, 2 * kMargin);
        const bool sameSize = picture.size() == (outer * ratio).toSize();
        if (!sameSize) picture = QPixmap((outer * ratio).toSize());
        picture.setDevicePixelRatio(ratio);
        const bool sameAxes = madeAcross.logarithmic == across.logarithmic &&
                              madeUp.logarithmic == up.logarithmic && horizontal != nullptr;
        if (!sameSize || !sameAxes || !refill()) make(outer);
        picture.fill(Qt::transparent);
        QPainter painter(&picture);
        painter.setRenderHint(QPainter::Antialiasing);
        scene.render(&painter, QRectF({}, outer), QRectF({}, outer));
        changed = false;
    }
};

/// Lines by Qt Charts; its bars and dots are clipped by what a scaled picture keeps of their clips,
/// and are drawn here.
void ChartPlot::Scene::draw(QPainter& painter, const QRectF& area) {
    across = withMargin(wantedAcross, area.width());
    up = withMargin(wantedUp, area.height());
    const QSizeF outer = area.size() + QSizeF(2 * kMargin, 2 * kMargin);
    const ChartContent whole = std::exchange(shown, linesOf(shown));
    make(outer);
    scene.render(&painter, QRectF(area.topLeft() - QPointF(kMargin, kMargin), outer),
                 QRectF({}, outer));
    shown = whole;
    changed = true;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    if (shown.histogram) drawBars(painter, area);
    for (const LineSeries& line : shown.lines)
        if (line.dots || !line.joined || line.points.size() == 1) drawDots(painter, area, line);
    painter.restore();
}

void ChartPlot::Scene::drawBars(QPainter& painter, const QRectF& area) const {
    const Histogram& bars = *shown.histogram;
    constexpr double kGapShare = (1 - kBarShare) / 2;
    for (std::size_t i = 0; i < bars.counts.size(); ++i) {
        const double low = bars.low + bars.width * (static_cast<double>(i) + kGapShare);
        const double left = wantedAcross.position(low, area.width());
        const double right = wantedAcross.position(low + bars.width * kBarShare, area.width());
        const double high = wantedUp.position(bars.counts[i], area.height());
        painter.fillRect(QRectF(area.left() + left, area.bottom() - high, right - left, high),
                         lineColour(*look, bars.meaning));
    }
}

void ChartPlot::Scene::drawDots(QPainter& painter, const QRectF& area,
                                const LineSeries& line) const {
    const QColor colour = lineColour(*look, line.meaning);
    painter.setPen(QPen(colour, 1.6));
    painter.setBrush(line.joined ? look->window : colour);
    for (const QPointF& point : drawable(line.points, wantedAcross, wantedUp))
        painter.drawEllipse(QPointF(area.left() + wantedAcross.position(point.x(), area.width()),
                                    area.bottom() - wantedUp.position(point.y(), area.height())),
                            kDotSize / 2, kDotSize / 2);
}

ChartPlot::ChartPlot() : m_scene(std::make_unique<Scene>()) {}
ChartPlot::~ChartPlot() = default;

void ChartPlot::set(const ChartContent& content, const AxisRange& horizontal,
                    const AxisRange& vertical, const Theme& theme) {
    Scene& scene = *m_scene;
    scene.shown = content;
    scene.wantedAcross = horizontal;
    scene.wantedUp = vertical;
    scene.look = &theme;
    scene.changed = true;
}

void ChartPlot::paint(QPainter& painter, const QRectF& area) {
    // what is kept or printed stays lines and text
    if (painter.paintEngine()->type() == QPaintEngine::Picture) {
        m_scene->draw(painter, area);
        return;
    }
    const double ratio = painter.device()->devicePixelRatioF();
    QPixmap& picture = m_scene->picture;
    const QSize wanted = ((area.size() + QSizeF(2 * kMargin, 2 * kMargin)) * ratio).toSize();
    if (m_scene->changed || picture.size() != wanted || picture.devicePixelRatio() != ratio)
        m_scene->render(area.size(), ratio);
    painter.drawPixmap(area.topLeft() - QPointF(kMargin, kMargin), picture);
}

}  // namespace shardscope::desktop
