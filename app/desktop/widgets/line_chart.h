// Lines over a shared x axis with a cursor that other charts can follow. Series are prepared
// and decimated by the models (at most a few thousand points). GUI thread.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/widgets/axis.h"

#include <QWidget>
#include <optional>
#include <vector>

namespace shardscope::desktop {

class LineChart : public QWidget {
    Q_OBJECT

public:
    explicit LineChart(QWidget* parent = nullptr);
    void setTitles(const QString& title, const QString& unit, const QString& bottomTitle);
    void setSeries(std::vector<LineSeries> series);
    void setRange(double low, double high);  ///< of x; without it the points' own
    void setTickText(TickText text);
    void setStartsAtZero(bool zero);
    /// A stretch of x drawn with a tint: the selection.
    void setHighlight(std::optional<AxisRange> range);
    [[nodiscard]] QSize sizeHint() const override { return {360, 200}; }
    [[nodiscard]] QSize minimumSizeHint() const override { return {200, 128}; }

public Q_SLOTS:
    void showCursor(double x);
    void hideCursor();

Q_SIGNALS:
    void cursorMoved(double x);
    void cursorLeft();
    void activated(double x);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    [[nodiscard]] QRectF plot() const;
    [[nodiscard]] AxisRange horizontal() const;
    [[nodiscard]] AxisRange vertical() const;
    void paintSeries(QPainter& painter, const AxisRange& h, const AxisRange& v) const;
    void paintCursor(QPainter& painter, const AxisRange& h, const AxisRange& v) const;
    void paintTitle(QPainter& painter) const;

    QString m_title, m_unit, m_bottomTitle;
    std::vector<LineSeries> m_series;
    std::optional<AxisRange> m_range;
    std::optional<AxisRange> m_highlight;
    std::optional<double> m_cursor;
    TickText m_text;
    bool m_startsAtZero = false;
};

}  // namespace shardscope::desktop
