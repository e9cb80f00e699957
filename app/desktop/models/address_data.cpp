#include "app/desktop/models/address_data.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace shardscope::desktop {
namespace {

/// Rows are filled from the left; a part that does not fit goes on below.
class RowFiller {
public:
    RowFiller(AddressRows& laid, double width, double gap)
        : m_laid(laid), m_width(width), m_gap(gap) {}

    void add(const std::vector<AddressPart>& parts, std::size_t place) {
        const AddressPart& part = parts[place];
        const double wide = static_cast<double>(part.size()) / m_laid.bytesPerPixel;
        const bool breaks = wide > m_width + kSlack;
        if (m_laid.rows.empty() || (m_x > 0 && (breaks || m_x + wide > m_width + kSlack))) next();
        std::uint64_t begin = part.begin;
        do {
            const double room = (m_width - m_x) * m_laid.bytesPerPixel;
            const std::uint64_t left = part.end - begin;
            const bool isLast = static_cast<double>(left) <= room + kSlack * m_laid.bytesPerPixel;
            const std::uint64_t size =
                isLast ? left
                       : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::floor(room)));
            const double drawn = static_cast<double>(size) / m_laid.bytesPerPixel;
            m_laid.rows.back().push_back({place, begin, begin + size, m_x, drawn});
            begin += size;
            m_x += drawn + m_gap;
            if (begin < part.end) next();
        } while (begin < part.end);
    }

private:
    static constexpr double kSlack = 1e-6;  ///< pixels
    void next() {
        m_laid.rows.emplace_back();
        m_x = 0;
    }
    AddressRows& m_laid;
    double m_width, m_gap;
    double m_x = 0;
};

}  // namespace

std::size_t AddressPart::firstBeyond(std::uint64_t address) const {
    const auto after = std::upper_bound(
        blocks.begin(), blocks.end(), address,
        [](std::uint64_t at, const AddressBlock& each) { return at < each.begin; });
    // blocks that overlap are a damaged file's
    const bool reaches = after != blocks.begin() && std::prev(after)->end > address;
    return static_cast<std::size_t>(after - blocks.begin()) - (reaches ? 1 : 0);
}

std::vector<std::pair<std::uint64_t, std::uint64_t>>::const_iterator AddressPart::firstFreeBeyond(
    std::uint64_t address) const {
    return std::partition_point(free.begin(), free.end(),
                                [address](const auto& gap) { return gap.second <= address; });
}

AddressRows layOutAddresses(const std::vector<AddressPart>& parts, int width, int rows,
                            double gap) {
    AddressRows laid;
    double bytes = 0;
    for (const AddressPart& part : parts) bytes += static_cast<double>(part.size());
    if (parts.empty() || width < 1) return laid;
    const double pixels = static_cast<double>(width) * std::max(1, rows);
    const double gaps = gap * static_cast<double>(parts.size());
    if (gaps > pixels / 3) gap = 0;
    const double drawn = pixels - (gap > 0 ? gaps : 0);
    laid.bytesPerPixel = std::max(bytes / drawn, 1e-3);
    RowFiller filler(laid, width, gap);
    for (std::size_t i = 0; i < parts.size(); ++i)
        if (parts[i].size() > 0) filler.add(parts, i);
    return laid;
}

}  // namespace shardscope::desktop
