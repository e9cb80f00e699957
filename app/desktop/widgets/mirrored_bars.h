// Two of the same as bars that begin at a middle line and go to the left and to the right, on one
// scale; names stand at the left, differences at the right. GUI thread.
//
// Up and Down go from row to row, and say of each what hovering does.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/widgets/spoken_picture.h"

#include <QWidget>
#include <vector>

namespace shardscope::desktop {

class MirroredBars : public QWidget {
    Q_OBJECT

public:
    explicit MirroredBars(QWidget* parent = nullptr);
    void setBars(std::vector<MirroredBar> bars);
    /// What the two sides are.
    void setTitles(const QString& left, const QString& right, const QString& difference);
    [[nodiscard]] const std::vector<MirroredBar>& bars() const { return m_bars; }

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

Q_SIGNALS:
    void rowHovered(const QString& text);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    struct Columns {
        double nameWidth, middle, side, differenceLeft;
    };
    [[nodiscard]] Columns columns() const;
    [[nodiscard]] int rowAt(double y) const;
    [[nodiscard]] QString words(int row) const;
    void setCurrent(int row);
    void paintRow(QPainter& painter, int row, const Columns& at, double highest) const;

    SpokenPicture m_spoken{*this};
    std::vector<MirroredBar> m_bars;
    QString m_left, m_right, m_difference;
    int m_current = -1;
};

}  // namespace shardscope::desktop
