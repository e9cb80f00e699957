// Stacked bands over time as a raster: one pixel column at a time, cost follows pixels. A
// dashed reference line, step ticks below, hover explains the instant. GUI thread.
#pragma once

#include "app/desktop/models/meaning.h"
#include "app/desktop/widgets/pictures/spoken_picture.h"
#include "storage/model/units.h"

#include <QPixmap>
#include <QWidget>
#include <optional>
#include <utility>
#include <vector>

namespace shardscope::desktop {

struct AreaBand {
    QString name;
    Meaning meaning = Meaning::kHost;
    std::vector<double> values;  ///< one a column
};

/// A stretch of which nothing is known, and the word for why.
struct AreaGap {
    TimeRange range;
    QString word;
};

struct AreaMark {
    Timestamp time;
    QString text;
};

class StackedArea : public QWidget {
    Q_OBJECT

public:
    explicit StackedArea(QWidget* parent = nullptr);
    void setTitle(const QString& title);
    /// Bands bottom first, over `range`; `highest` fixes the scale so that pictures compare.
    void setBands(std::vector<AreaBand> bands, TimeRange range, double highest);
    /// 0: no line.
    void setReference(double value, const QString& text);
    /// What the device has; not drawn where it is beyond the scale. 0: not known.
    void setLimit(double value, const QString& text);
    void setPlotHeight(int height);
    /// A line over the bands, one value a column; empty: none.
    void setLine(const QString& name, std::vector<double> values);
    void setMarks(std::vector<AreaMark> marks);  ///< on the time axis: steps
    void setPeak(std::optional<Timestamp> time, const QString& text);
    void setGaps(std::vector<AreaGap> gaps);
    /// A time that was picked; marked by a line.
    void setMoment(std::optional<Timestamp> time);
    void setShowsAxis(bool shows);
    [[nodiscard]] QSize sizeHint() const override { return {480, 240}; }
    [[nodiscard]] QSize minimumSizeHint() const override { return {240, 120}; }
    /// Of the screen: more than its width where the screen is scaled.
    [[nodiscard]] int plotWidth() const;
    /// What is said at the cursor, with its box for a cursor at `x`.
    struct ReadOut {
        std::vector<std::pair<QString, QString>> lines;
        int rows = 1;  ///< of each column
        QSizeF line;
        QRectF box;
    };
    [[nodiscard]] ReadOut readOut(double x) const;

public Q_SLOTS:
    void showCursor(std::optional<double> share);  ///< of the plot's width

Q_SIGNALS:
    void cursorMoved(std::optional<double> share);
    void rangeSelected(shardscope::TimeRange range);
    /// A click: that time; near the mark of the peak that of the peak.
    void timePicked(shardscope::Timestamp time);
    void plotResized();

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    [[nodiscard]] QRectF plot() const;
    /// Of the column at the cursor: its time and sum, then what it is made of; empty: none.
    [[nodiscard]] std::vector<std::pair<QString, QString>> cursorLines() const;
    void paintReadOut(QPainter& painter, double x) const;
    [[nodiscard]] int columns() const;
    void describe();
    [[nodiscard]] QPixmap renderBands() const;
    void paintAxes(QPainter& painter) const;
    void paintLine(QPainter& painter) const;
    void paintGaps(QPainter& painter) const;
    void paintMarks(QPainter& painter) const;
    void paintLimit(QPainter& painter) const;
    void paintCursor(QPainter& painter) const;
    void paintMoment(QPainter& painter) const;

    SpokenPicture m_spoken{*this};
    QString m_title, m_referenceText, m_peakText;
    std::vector<AreaBand> m_bands;
    AreaBand m_line;
    std::vector<AreaMark> m_marks;
    std::vector<AreaGap> m_gaps;
    TimeRange m_range;
    double m_highest = 1;
    double m_reference = 0, m_limit = 0;
    QString m_limitText;
    std::optional<Timestamp> m_peak, m_moment;
    bool m_showsAxis = true;
    std::optional<double> m_cursor;
    std::optional<double> m_dragFrom;
    QPixmap m_picture;
};

}  // namespace shardscope::desktop
