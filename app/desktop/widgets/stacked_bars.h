// Stacked horizontal bars on one scale, with an axis below: ledgers, memory by rank. GUI thread.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/widgets/picture.h"

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
    int m_labelWidth = 72;
};

}  // namespace shardscope::desktop
