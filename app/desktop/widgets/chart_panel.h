// A chart: Qt Charts draws what it shows (chart_plot.h), the panel its title, axes, marks, and
// a cursor whose values stand in the title's line, never on the curve. GUI thread.
//
// Pointer: drag selects a stretch of x, Ctrl+drag zooms to it, Ctrl+wheel zooms round the pointer,
// Shift+drag pans, double click shows everything. Keys: Left and Right move the cursor from point
// to point, Enter selects there, + and - zoom, 0 shows everything.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/widgets/axis.h"
#include "app/desktop/widgets/chart_plot.h"
#include "app/desktop/widgets/pictures/spoken_picture.h"

#include <QWidget>
#include <optional>
#include <vector>

namespace shardscope::desktop {

class ChartPanel : public QWidget {
    Q_OBJECT

public:
    explicit ChartPanel(QWidget* parent = nullptr);

    /// `bottomTitle`: what x is, with its unit.
    void setTitles(const QString& title, const QString& unit, const QString& bottomTitle);
    /// What the title means, shown over the title alone.
    void setDefinition(const QString& definition);
    /// Points by x; any number: what is seen is thinned to what its pixels can show.
    void setSeries(std::vector<LineSeries> series);
    void setBands(std::vector<BandSeries> bands);
    void setHistogram(std::optional<Histogram> histogram);
    /// Lines across at values of x (a median) and of y (a theory, a target).
    void setMarks(std::vector<ChartMark> vertical, std::vector<ChartMark> horizontal = {});
    /// Of x; without it the points' own.
    void setRange(double low, double high);
    void setStartsAtZero(bool zero);
    void setLogarithmic(bool horizontal, bool vertical);
    /// x are sizes in KiB, on a logarithmic axis that names them in B, KiB, MiB.
    void setKibibytes(bool kibibytes);
    /// x are whole numbers, such as steps.
    void setWholeNumbers(bool whole);
    /// Whether cursor and hover speak of points: not on a strip that only shows where one is.
    void setCompact(bool compact);
    /// Whether names of lines stand in the title's line, where all of them have room.
    void setNamed(bool named);
    /// A stretch of x drawn with a tint: the selection.
    void setHighlight(std::optional<AxisRange> range);
    /// Said where there is no point at all.
    void setEmptyText(const QString& text);

    [[nodiscard]] QSize sizeHint() const override { return {360, m_compact ? 56 : 200}; }
    [[nodiscard]] QSize minimumSizeHint() const override { return {200, m_compact ? 56 : 128}; }
    /// The x that are shown, zoomed or not.
    [[nodiscard]] AxisRange horizontal() const { return m_zoom ? *m_zoom : m_all; }
    /// As far as the shown x need it.
    [[nodiscard]] AxisRange vertical() const { return m_vertical; }
    [[nodiscard]] QRectF plot() const;
    [[nodiscard]] bool isZoomed() const { return m_zoom.has_value(); }
    /// "step 20: training 2.79, validation 2.81"; empty without a cursor.
    [[nodiscard]] QString cursorText() const;
    /// Points that are drawn now, over all lines.
    [[nodiscard]] int drawnPoints() const { return m_drawnPoints; }

public Q_SLOTS:
    void showCursor(double x);
    void hideCursor();
    /// nullopt: everything.
    void zoomTo(std::optional<shardscope::desktop::AxisRange> range);

Q_SIGNALS:
    void cursorMoved(double x);
    void cursorLeft();
    void activated(double x);
    void rangeSelected(double low, double high);
    void zoomed(std::optional<shardscope::desktop::AxisRange> range);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void changeEvent(QEvent* event) override;
    bool event(QEvent* event) override;

private:
    enum class Drag { kNone, kSelect, kZoom, kPan };

    [[nodiscard]] bool isEmpty() const;
    [[nodiscard]] AxisRange horizontalOfAll() const;
    [[nodiscard]] AxisRange verticalOf(const AxisRange& seen) const;
    [[nodiscard]] double valueAt(double x) const;
    void rebuild();
    void preparePlot();
    void changeZoom(std::optional<AxisRange> range);
    void zoomBy(double factor, double anchor);
    void moveCursor(int direction);
    void describe();
    [[nodiscard]] QString summary() const;
    [[nodiscard]] QString textOfX(double x) const;
    /// What stands above the plot: the title, behind it the unit, then the values at the cursor.
    struct Header {
        double title = 0, free = 0;  ///< where they end
        QString behind, cursor;
        bool isCut = false;  ///< the values have no room
    };
    [[nodiscard]] Header header() const;
    void paintHeader(QPainter& painter) const;
    void paintLegend(QPainter& painter, double left) const;
    void paintAxes(QPainter& painter) const;
    void paintStretch(QPainter& painter, const AxisRange& stretch, bool strong) const;
    void paintMarks(QPainter& painter) const;
    void paintCursor(QPainter& painter) const;

    SpokenPicture m_spoken{*this};
    QString m_title, m_unit, m_bottomTitle, m_definition, m_emptyText;
    ChartContent m_content;
    std::vector<ChartMark> m_verticalMarks, m_horizontalMarks;
    std::optional<AxisRange> m_range, m_zoom, m_highlight;
    std::optional<double> m_cursor;
    bool m_startsAtZero = false, m_logX = false, m_logY = false, m_whole = true, m_compact = false,
         m_named = true, m_kibibytes = false;

    AxisRange m_all, m_vertical;  ///< all of x; what of y is shown
    ChartPlot m_plot;
    bool m_stale = true;  ///< m_plot does not show m_content
    QSizeF m_plotSize;
    int m_drawnPoints = 0;

    Drag m_drag = Drag::kNone;
    QPointF m_pressed;
    AxisRange m_pressedRange;
    std::optional<AxisRange> m_dragged;
};

/// Cursor and zoom of one are those of all.
void linkCharts(const std::vector<ChartPanel*>& charts);

}  // namespace shardscope::desktop
