// Rows x columns of shares in viridis, with a scale bar. More rows or columns than pixels share
// them: a pixel shows the highest of its cells, so that none that stands out disappears. Arrow keys
// go from cell to cell, Enter activates. GUI thread.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/widgets/pictures/picture.h"

#include <QImage>
#include <optional>

namespace shardscope::desktop {

class HeatMap : public Picture {
    Q_OBJECT

public:
    explicit HeatMap(QWidget* parent = nullptr);
    void setMap(HeatData map);
    /// Of columns, rows and values.
    void setTitles(const QString& columns, const QString& rows, const QString& values);
    [[nodiscard]] QRectF plot() const;

Q_SIGNALS:
    /// What `activated` says, by row and column.
    void cellActivated(int row, int column);

protected:
    [[nodiscard]] int count() const override { return static_cast<int>(m_map.values.size()); }
    [[nodiscard]] QRectF placeOf(int cell) const override;
    [[nodiscard]] QString textOf(int cell) const override;
    void paint(QPainter& painter) override;
    [[nodiscard]] int itemAt(QPointF at) const override;
    [[nodiscard]] std::optional<int> itemByKey(int key) const override;
    void activate(int cell) override;
    [[nodiscard]] QRectF frame() const override { return plot().adjusted(-1.5, -1.5, 0.5, 0.5); }
    void paintCursor(QPainter& painter, const QRectF& place) const override;

private:
    [[nodiscard]] int columns() const { return static_cast<int>(m_map.columns.size()); }
    void paintAxes(QPainter& painter, const QRectF& area) const;
    void paintVeil(QPainter& painter, const QRectF& area) const;
    void paintScale(QPainter& painter, const QRectF& area) const;

    HeatData m_map;
    QString m_columnTitle, m_rowTitle, m_valueTitle;
    QImage m_image;    ///< of the cells, at most a pixel each
    QSize m_imageFor;  ///< pixels of the screen
};

/// The colour of `share` of the scale, 0 to 1.
[[nodiscard]] QColor heatColour(double share);

}  // namespace shardscope::desktop
