// Stacked columns in groups, a name below each group: kinds of collectives over layers. GUI thread.
//
// Pointer: hover says what a column is, a click activates it. Keys: Left, Right, Home and End go
// from column to column, Enter activates.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/widgets/axis.h"
#include "app/desktop/widgets/spoken_picture.h"

#include <QWidget>
#include <cstddef>
#include <optional>
#include <vector>

namespace shardscope::desktop {

class GroupedColumns : public QWidget {
    Q_OBJECT

public:
    explicit GroupedColumns(QWidget* parent = nullptr);
    void setGroups(std::vector<ColumnGroup> groups);
    /// Of values, with their unit, and of groups.
    void setTitles(const QString& left, const QString& bottom);
    /// Draws a dotted edge round columns: their values are those of a model.
    void setModelled(bool modelled);
    /// Lines across, at values: a peak, a limit.
    void setMarks(std::vector<ChartMark> marks);

    [[nodiscard]] QRectF plot() const;
    /// Where a column stands, as wide as it is drawn; null: there is none.
    [[nodiscard]] QRectF columnAt(std::size_t group, std::size_t column) const;
    /// What hovering says of the column at the cursor; empty without one.
    [[nodiscard]] QString cursorText() const { return textOf(m_cursor); }
    [[nodiscard]] QSize sizeHint() const override { return {480, 232}; }
    [[nodiscard]] QSize minimumSizeHint() const override { return {240, 180}; }

Q_SIGNALS:
    void columnActivated(int group, int column);
    void columnHovered(const QString& text);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    struct Slot {
        int group, column;
        double begin, end;  ///< in columns, from the first on
    };
    [[nodiscard]] const StackedBar& bar(const Slot& slot) const;
    [[nodiscard]] double pitch() const;  ///< pixels a column
    [[nodiscard]] QRectF areaOf(const Slot& slot, double value) const;
    [[nodiscard]] int slotAt(double x) const;
    [[nodiscard]] QString textOf(int slot) const;
    [[nodiscard]] int highest() const;
    void describe();
    void moveCursor(int slot, QPoint tipAt);
    void activate();
    void paintColumn(QPainter& painter, const Slot& slot) const;
    void paintNames(QPainter& painter) const;
    void paintMarks(QPainter& painter) const;
    void fitRange();

    SpokenPicture m_spoken{*this};
    std::vector<ColumnGroup> m_groups;
    std::vector<ChartMark> m_marks;
    std::vector<Slot> m_slots;
    double m_length = 1;  ///< of all, in columns
    AxisRange m_range;
    QString m_leftTitle, m_bottomTitle;
    bool m_modelled = false;
    int m_cursor = -1;  ///< of m_slots
};

}  // namespace shardscope::desktop
