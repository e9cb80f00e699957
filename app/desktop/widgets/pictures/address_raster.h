// Paints rows of an address map column by column: cost follows blocks and pixels. GUI thread.
#pragma once

#include "app/desktop/models/address_data.h"
#include "app/desktop/widgets/theme.h"

#include <QColor>
#include <QPainter>
#include <QRectF>
#include <cstddef>
#include <vector>

namespace shardscope::desktop {

/// Colours by meaning, behind them those of shades.
class AddressPalette {
public:
    AddressPalette(const AddressData& data, const Theme& theme);
    [[nodiscard]] static std::size_t placeOf(const AddressBlock& block) {
        return block.shade < 0 ? static_cast<std::size_t>(block.meaning)
                               : kPlain + static_cast<std::size_t>(block.shade);
    }
    [[nodiscard]] const QColor& colour(std::size_t place) const { return m_colours[place]; }

private:
    static constexpr std::size_t kPlain = kMeanings;
    std::vector<QColor> m_colours;
};

class AddressRaster {
public:
    /// `data` and `theme` must outlive it.
    AddressRaster(const AddressData& data, double bytesPerPixel, const Theme& theme)
        : m_data(data), m_theme(theme), m_palette(data, theme), m_bytesPerPixel(bytesPerPixel) {}
    void paintRow(QPainter& painter, const QRectF& area, const std::vector<AddressCell>& row) const;

private:
    const AddressData& m_data;
    const Theme& m_theme;
    AddressPalette m_palette;
    double m_bytesPerPixel;
};

}  // namespace shardscope::desktop
