// Prepared values of a heat map: rows x columns of shares. Plain values.
#pragma once

#include <QString>
#include <cstddef>
#include <vector>

namespace shardscope::desktop {

struct HeatData {
    std::vector<QString> rows;     ///< names, top first
    std::vector<QString> columns;  ///< names, left first
    std::vector<float> values;     ///< row by row; negative: not known
    float maximum = 1;             ///< the scale's end; it begins at 0

    [[nodiscard]] float at(std::size_t row, std::size_t column) const {
        return values[row * columns.size() + column];
    }
};

}  // namespace shardscope::desktop
