// Two of the same as bars that begin at a middle line and go to the left and to the right, on one
// scale; names stand at the left, differences at the right. GUI thread.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/widgets/picture.h"

#include <vector>

namespace shardscope::desktop {

class MirroredBars : public Picture {
    Q_OBJECT

public:
    explicit MirroredBars(QWidget* parent = nullptr);
    void setBars(std::vector<MirroredBar> bars);
    /// What the two sides are.
    void setTitles(const QString& left, const QString& right, const QString& difference);
    [[nodiscard]] const std::vector<MirroredBar>& bars() const { return m_bars; }

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
