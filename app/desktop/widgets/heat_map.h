// Rows x columns of shares in viridis, with a scale bar. More rows or columns than pixels share
// them: a pixel shows the highest of its cells, so that none that stands out disappears. Arrow keys
// go from cell to cell, Enter activates. GUI thread.
#pragma once

#include "app/desktop/models/heat_data.h"
#include "app/desktop/widgets/spoken_picture.h"

#include <QImage>
#include <QWidget>
#include <optional>

namespace shardscope::desktop {

class HeatMap : public QWidget {
    Q_OBJECT

public:
    explicit HeatMap(QWidget* parent = nullptr);
    void setMap(HeatData map);
    /// Of columns, rows and values.
    void setTitles(const QString& columns, const QString& rows, const QString& values);
    [[nodiscard]] QRectF plot() const;

Q_SIGNALS:
    void cellActivated(int row, int column);
    void cellHovered(const QString& text);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    struct Cell {
        int row;
        int column;
    };
    [[nodiscard]] std::optional<Cell> cellAt(QPointF at) const;
    [[nodiscard]] QString textOf(Cell cell) const;
    [[nodiscard]] std::optional<Cell> highest() const;
    void setCursor(std::optional<Cell> cell);
    void moveCursor(int rows, int columns);
    void paintAxes(QPainter& painter, const QRectF& area) const;
    void paintCursor(QPainter& painter, const QRectF& area) const;
    void paintScale(QPainter& painter, const QRectF& area) const;

    SpokenPicture m_spoken{*this};
    HeatData m_map;
    QString m_columnTitle, m_rowTitle, m_valueTitle;
    QImage m_image;                ///< of the cells, at most a pixel each
    QSize m_imageFor;              ///< pixels of the screen
    std::optional<Cell> m_cursor;  ///< of the keys
};

/// The colour of `share` of the scale, 0 to 1.
[[nodiscard]] QColor heatColour(double share);

}  // namespace shardscope::desktop
