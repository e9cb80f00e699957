// Stretches of memory with blocks in them, and how they are laid out in rows. Plain values, pure.
#pragma once

#include "app/desktop/models/meaning.h"

#include <QString>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace shardscope::desktop {

struct AddressBlock {
    std::uint64_t begin = 0, end = 0;
    int id = 0;  ///< of who asked for the picture
    Meaning meaning = Meaning::kHost;
    int shade = -1;  ///< of AddressData::shades; -1: the plain colour
};

struct AddressPart {
    std::uint64_t begin = 0, end = 0;
    bool reserved = false;             ///< what no block covers is known to be free or lost
    std::vector<AddressBlock> blocks;  ///< by address
    std::vector<std::pair<std::uint64_t, std::uint64_t>> free;  ///< by address
    [[nodiscard]] std::uint64_t size() const { return end - begin; }
    /// The first block, the first free space that ends beyond an address; else one past the last.
    [[nodiscard]] std::size_t firstBeyond(std::uint64_t address) const;
    [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>>::const_iterator
    firstFreeBeyond(std::uint64_t address) const;
};

struct AddressData {
    std::vector<AddressPart> parts;   ///< by address; none overlap
    std::vector<QString> shades;      ///< names that give blocks a shade of a colour
    Meaning shaded = Meaning::kHost;  ///< that colour
};

/// What is at a place of such a picture.
struct AddressHit {
    enum class Kind { kBlock, kFree, kLost, kBetween };
    Kind kind = Kind::kBetween;
    int id = -1;                       ///< of a block
    std::uint64_t begin = 0, end = 0;  ///< of the block or the free space
    std::size_t part = 0;
};

/// Some of a part on a row.
struct AddressCell {
    std::size_t part = 0;
    std::uint64_t begin = 0, end = 0;
    double x = 0;  ///< of its first byte, pixels
    double width = 0;
};
struct AddressRows {
    std::vector<std::vector<AddressCell>> rows;  ///< left to right
    double bytesPerPixel = 1;
};

/// Parts one after the other in about `rows` rows, all to one scale, gaps between them folded to
/// `gap` pixels, or to none where there are too many. A part that fits on a row is not broken.
[[nodiscard]] AddressRows layOutAddresses(const std::vector<AddressPart>& parts, int width,
                                          int rows, double gap);

}  // namespace shardscope::desktop
