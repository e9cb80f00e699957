// Rows of spans over one axis: a step's flow. Words stand on what has room for them. GUI thread.
#pragma once

#include "app/desktop/models/step_split.h"
#include "app/desktop/widgets/pictures/picture.h"

#include <QString>
#include <vector>

namespace shardscope::desktop {

class SpanRows : public Picture {
    Q_OBJECT

public:
    explicit SpanRows(QWidget* parent = nullptr);
    /// `end` of the axis, which begins at 0; `title`: what it is, with its unit.
    void setRows(std::vector<SpanRow> rows, double end, const QString& title);

    [[nodiscard]] QSize sizeHint() const override { return {360, 168}; }
    [[nodiscard]] QSize minimumSizeHint() const override { return {200, 120}; }

protected:
    [[nodiscard]] int count() const override { return static_cast<int>(m_spans.size()); }
    [[nodiscard]] QRectF placeOf(int item) const override;
    [[nodiscard]] QString textOf(int item) const override { return spanOf(item).details; }
    void paint(QPainter& painter) override;

private:
    /// A span by its row and its place there.
    struct Place {
        std::size_t row, span;
    };
    [[nodiscard]] const RowSpan& spanOf(int item) const;
    [[nodiscard]] QRectF plot() const;
    [[nodiscard]] QRectF rowArea(std::size_t row) const;
    [[nodiscard]] QRectF boxOf(const RowSpan& span, std::size_t row) const;
    void paintRow(QPainter& painter, std::size_t row) const;

    std::vector<SpanRow> m_rows;
    std::vector<Place> m_spans;
    double m_end = 1;
    QString m_title;
};

}  // namespace shardscope::desktop
