// Stacked columns with a value axis on the left: over an index (steps), or in groups with a name
// below each (kinds of collectives over layers). GUI thread.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/widgets/axis.h"
#include "app/desktop/widgets/pictures/picture.h"

#include <cstddef>
#include <vector>

namespace shardscope::desktop {

class ColumnChart : public Picture {
    Q_OBJECT

public:
    explicit ColumnChart(QWidget* parent = nullptr);
    /// Over an index: the columns fill the plot, and the axis names every so many of them.
    void setColumns(std::vector<StackedBar> columns);
    void setGroups(std::vector<ColumnGroup> groups);
    /// Of values, with their unit, and of columns or groups.
    void setTitles(const QString& left, const QString& bottom);
    /// Draws a dotted edge round columns: their values are those of a model.
    void setModelled(bool modelled);
    /// Lines across, at values: a peak, a limit.
    void setMarks(std::vector<ChartMark> marks);

    [[nodiscard]] QRectF plot() const;
    /// Where a column stands, as wide as it is drawn; null: there is none.
    [[nodiscard]] QRectF columnAt(std::size_t group, std::size_t column) const;
    [[nodiscard]] QSize sizeHint() const override { return {400, 208}; }
    [[nodiscard]] QSize minimumSizeHint() const override { return {240, 160}; }

Q_SIGNALS:
    /// What `activated` says, by place in its group.
    void columnActivated(int group, int column);

protected:
    [[nodiscard]] int count() const override { return static_cast<int>(m_slots.size()); }
    [[nodiscard]] QRectF placeOf(int item) const override;
    [[nodiscard]] QString textOf(int item) const override;
    void paint(QPainter& painter) override;
    [[nodiscard]] int itemAt(QPointF at) const override;
    [[nodiscard]] QRectF frame() const override { return plot().adjusted(-0.5, -0.5, 0.5, 0.5); }
    void activate(int item) override;

private:
    struct Slot {
        int group, column;
        double begin, end;  ///< in columns, from the first on
    };
    void layOut();
    void describeAll();
    [[nodiscard]] const Slot& slot(int item) const;
    [[nodiscard]] const StackedBar& bar(const Slot& slot) const;
    [[nodiscard]] QString headOf(const Slot& slot) const;
    [[nodiscard]] double pitch() const;  ///< pixels a column
    [[nodiscard]] QRectF areaOf(const Slot& slot, double value) const;
    void paintColumn(QPainter& painter, const Slot& slot) const;
    void paintIndex(QPainter& painter) const;
    void paintNames(QPainter& painter) const;
    void paintMarks(QPainter& painter) const;

    std::vector<ColumnGroup> m_groups;
    std::vector<ChartMark> m_marks;
    std::vector<Slot> m_slots;
    double m_length = 1;  ///< of all, in columns
    AxisRange m_range;
    QString m_leftTitle, m_bottomTitle;
    bool m_overIndex = false;
    bool m_modelled = false;
};

}  // namespace shardscope::desktop
