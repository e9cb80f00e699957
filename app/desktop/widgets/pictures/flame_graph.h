// A flame graph or, upside down, an icicle: rows of cells as wide as the time that they took. Its
// own raster: what is painted follows pixels, not cells. Knows names, times and meanings of
// colours, and nothing else. GUI thread.
//
// Pointer: a click zooms to a cell, or to one that it is a part of; Ctrl+wheel zooms round the
// pointer, a drag moves. Keys: Left, Right, Up and Down go from cell to cell, Enter zooms to it,
// W and S zoom, A and D move, Backspace and Esc go back, Home shows everything.
#pragma once

#include "app/desktop/models/flame_data.h"
#include "app/desktop/widgets/pictures/spoken_picture.h"

#include <QPixmap>
#include <QWidget>
#include <memory>
#include <optional>

class QMenu;

namespace shardscope::desktop {

struct Theme;

class FlameGraph : public QWidget {
    Q_OBJECT

public:
    explicit FlameGraph(QWidget* parent = nullptr);
    /// `what`: what its time is, for who cannot see it.
    void setData(std::shared_ptr<const FlameData> cells, const QString& what);
    /// The whole at the top instead of at the bottom.
    void setIcicle(bool icicle);
    /// Keeps cells of such names bright and makes the others pale.
    void setSearch(const QString& text);
    [[nodiscard]] const FlameMatch& found() const { return m_match; }
    /// 0: everything.
    void zoomTo(std::size_t cell);
    [[nodiscard]] std::size_t zoomed() const { return m_zoomed; }
    /// nullopt: none.
    void selectCell(std::optional<std::size_t> cell);
    [[nodiscard]] std::optional<std::size_t> selected() const { return m_selected; }
    [[nodiscard]] const FlameData& shown() const { return *m_data; }
    /// Where a cell is drawn; empty: nowhere.
    [[nodiscard]] QRectF areaOf(std::size_t cell) const;
    [[nodiscard]] std::optional<std::size_t> cellAt(QPointF at) const;
    /// Deeper rows than there is room for.
    [[nodiscard]] std::size_t hiddenRows() const;
    [[nodiscard]] QSize sizeHint() const override { return {480, height()}; }

Q_SIGNALS:
    /// By pointer or key.
    void cellPicked(std::size_t cell);
    void hovered(const QString& text);
    void zoomChanged();
    /// `menu` opens over a cell: to be added to.
    void menuOpens(QMenu* menu, std::size_t cell);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    [[nodiscard]] std::size_t firstRow() const;
    [[nodiscard]] std::size_t shownRows() const;
    [[nodiscard]] QRectF rowArea(std::size_t row) const;
    [[nodiscard]] double xOf(double place) const;
    [[nodiscard]] double placeAt(double x) const;
    [[nodiscard]] QPixmap render() const;
    void paintRow(QPainter& painter, std::size_t row, const Theme& theme) const;
    void paintCell(QPainter& painter, const QRectF& area, std::size_t cell,
                   const Theme& theme) const;
    [[nodiscard]] QColor colourOf(const FlameCell& cell, const Theme& theme) const;
    void paintOutline(QPainter& painter, std::size_t cell, const Theme& theme) const;
    void setView(double begin, double end);
    void zoomBy(double factor, double anchor);
    void pick(std::size_t cell, bool zoom);
    void step(int key);
    [[nodiscard]] bool handleZoomKey(int key);
    void refresh();
    void describe();

    SpokenPicture m_spoken{*this};
    std::shared_ptr<const FlameData> m_data = std::make_shared<const FlameData>();
    QString m_what, m_search;
    FlameMatch m_match;
    bool m_icicle = false;
    double m_begin = 0, m_end = 0;  ///< what of the whole is shown
    std::size_t m_zoomed = 0;
    std::optional<std::size_t> m_selected, m_hovered;
    QPixmap m_picture;
    std::optional<QPointF> m_pressed;
    double m_pressedBegin = 0, m_pressedEnd = 0;
    bool m_dragged = false;
};

}  // namespace shardscope::desktop
