// Stacked horizontal bars on one scale, with an axis below: ledgers, memory by rank. GUI thread.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/widgets/pictures/picture.h"

#include <array>
#include <functional>
#include <vector>

namespace shardscope::desktop {

class StackedBars : public Picture {
    Q_OBJECT

public:
    explicit StackedBars(QWidget* parent = nullptr);
    void setBars(std::vector<StackedBar> bars);
    /// Ticks of the axis: values at most `maximum`; their texts; what the axis measures.
    /// Without a title no axis is drawn.
    struct Axis {
        QString title;
        std::function<std::vector<double>(double maximum, int ticks)> ticks;
        std::function<QString(double value, double step)> text;
    };
    void setAxis(Axis axis);
    /// At least; labels widen it.
    void setLabelWidth(int pixels);

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

protected:
    [[nodiscard]] int count() const override { return static_cast<int>(m_bars.size()); }
    [[nodiscard]] QRectF placeOf(int bar) const override;
    [[nodiscard]] QString textOf(int bar) const override;
    [[nodiscard]] QString textAt(QPointF at) const override;
    void paint(QPainter& painter) override;

private:
    [[nodiscard]] double scale() const;  ///< pixels a value
    [[nodiscard]] double totalWidth() const;
    void paintBar(QPainter& painter, int index) const;
    void paintAxis(QPainter& painter) const;

    std::vector<StackedBar> m_bars;
    Axis m_axis;
    int m_leastLabelWidth = 72;
    int m_labelWidth = 72;  ///< of the widest label
};

// Two of the same as bars that begin at a middle line and go to the left and to the right, on one
// scale; names stand at the left, differences at the right. GUI thread.

class MirroredBars : public Picture {
    Q_OBJECT

public:
    explicit MirroredBars(QWidget* parent = nullptr);
    void setBars(std::vector<MirroredBar> bars);
    /// What the two sides are.
    void setTitles(const QString& left, const QString& right, const QString& difference);
    [[nodiscard]] const std::vector<MirroredBar>& bars() const { return m_bars; }
    /// As they were set.
    [[nodiscard]] std::array<QString, 3> titles() const { return {m_left, m_right, m_difference}; }

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

protected:
    [[nodiscard]] int count() const override { return static_cast<int>(m_bars.size()); }
    [[nodiscard]] QRectF placeOf(int row) const override;
    [[nodiscard]] QString textOf(int row) const override;
    void paint(QPainter& painter) override;
    /// Below what stands in the row.
    void paintCursor(QPainter&, const QRectF&) const override {}

private:
    struct Columns {
        double nameWidth, middle, side, differenceLeft;
    };
    [[nodiscard]] Columns columns() const;
    void describeAll();
    void paintRow(QPainter& painter, int row, const Columns& at, double highest) const;

    std::vector<MirroredBar> m_bars;
    QString m_left, m_right, m_difference;
};

}  // namespace shardscope::desktop
