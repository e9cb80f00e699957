// Stacked horizontal bars on one scale, with an axis below: ledgers, memory by rank. GUI thread.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/widgets/spoken_picture.h"

#include <QWidget>
#include <functional>
#include <vector>

namespace shardscope::desktop {

class StackedBars : public QWidget {
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

Q_SIGNALS:
    void barActivated(int bar);
    void segmentHovered(const QString& text);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    [[nodiscard]] int barAt(double y) const;
    [[nodiscard]] QString textOf(int bar) const;
    void moveCursor(int bar);
    [[nodiscard]] double scale() const;  ///< pixels a value
    [[nodiscard]] double totalWidth() const;
    void paintBar(QPainter& painter, int index) const;
    void paintAxis(QPainter& painter) const;

    SpokenPicture m_spoken{*this};
    std::vector<StackedBar> m_bars;
    Axis m_axis;
    int m_labelWidth = 72;
    int m_cursor = -1;  ///< of the keys
};

}  // namespace shardscope::desktop
