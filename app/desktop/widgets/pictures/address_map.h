// Blocks of memory where they lie, as a raster: stretches one after the other in rows to one scale,
// what is free in them hatched, what is unknown empty. A column that several blocks share has
// the colour of the one that covers most of it, as strong as it is covered. Left and Right go from
// block to block; a double click, or Z, spreads one stretch over all rows, Esc shows all again. GUI
// thread.
#pragma once

#include "app/desktop/models/address_data.h"
#include "app/desktop/widgets/pictures/spoken_picture.h"

#include <QPixmap>
#include <QWidget>
#include <memory>
#include <optional>

namespace shardscope::desktop {

class AddressMap : public QWidget {
    Q_OBJECT

public:
    explicit AddressMap(QWidget* parent = nullptr);
    /// Shared: of a long run it is large.
    void setData(std::shared_ptr<const AddressData> map);
    /// One part over all rows; nullopt: all of them. Double click and Z do the same, Esc goes back.
    void showOnly(std::optional<std::size_t> part);
    /// Outlined; -1: none.
    void selectBlock(int id);
    /// What the selected one is, for who cannot see it; empty: none is.
    void describeBlock(const QString& words) { m_spoken.setCurrent(words); }
    [[nodiscard]] std::optional<AddressHit> hitAt(QPointF at) const;
    /// Where a block is drawn; empty: nowhere. Of one on several rows on the first.
    [[nodiscard]] QRectF areaOf(int id) const;
    [[nodiscard]] QSize sizeHint() const override { return {480, 240}; }

Q_SIGNALS:
    void blockPicked(int id);
    void hovered(std::optional<shardscope::desktop::AddressHit> hit);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    struct Place {
        std::size_t part;
        std::size_t block;
    };
    void layOut();
    [[nodiscard]] QRectF rowArea(std::size_t row) const;
    [[nodiscard]] std::optional<Place> placeOf(int id) const;
    [[nodiscard]] QPixmap render() const;
    [[nodiscard]] std::vector<QRectF> areasOf(const AddressBlock& block, std::size_t part) const;
    void paintLabels(QPainter& painter) const;
    void paintSelected(QPainter& painter) const;
    void step(int by);

    [[nodiscard]] const std::vector<AddressPart>& parts() const { return m_data->parts; }

    SpokenPicture m_spoken{*this};
    std::shared_ptr<const AddressData> m_data = std::make_shared<const AddressData>();
    std::optional<std::size_t> m_only;
    AddressRows m_laid;
    double m_rowHeight = 12;
    int m_selected = -1;
    QPixmap m_picture;
};

}  // namespace shardscope::desktop
