// Rows of spans over one axis: a step's flow. Words stand on what has room for them. GUI thread.
#pragma once

#include "app/desktop/models/step_flow.h"
#include "app/desktop/widgets/spoken_picture.h"

#include <QRectF>
#include <QString>
#include <QWidget>
#include <vector>

namespace shardscope::desktop {

class SpanRows : public QWidget {
    Q_OBJECT

public:
    explicit SpanRows(QWidget* parent = nullptr);
    /// `end` of the axis, which begins at 0; `title`: what it is, with its unit.
    void setRows(std::vector<SpanRow> rows, double end, const QString& title);

    [[nodiscard]] QSize sizeHint() const override { return {360, 168}; }
    [[nodiscard]] QSize minimumSizeHint() const override { return {200, 120}; }

Q_SIGNALS:
    void spanHovered(const QString& details);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    [[nodiscard]] QRectF plot() const;
    [[nodiscard]] QRectF rowArea(std::size_t row) const;
    void paintRow(QPainter& painter, std::size_t row) const;

    SpokenPicture m_spoken{*this};
    std::vector<SpanRow> m_rows;
    double m_end = 1;
    QString m_title;
};

}  // namespace shardscope::desktop
