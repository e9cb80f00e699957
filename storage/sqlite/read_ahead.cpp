#include "storage/sqlite/read_ahead.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

namespace shardscope::storage {
namespace {

/// Deeper than any tree of a file that fits on a disk.
constexpr int kMostLevels = 12;
constexpr std::size_t kHeaderBytes = 12, kFileHeaderBytes = 100;

enum class PageType : unsigned char { kIndexInterior = 2, kTableInterior = 5 };

std::int64_t number(const unsigned char* at, int bytes) {
    std::int64_t value = 0;
    for (int i = 0; i < bytes; ++i) value = value << 8 | at[i];
    return value;
}

/// Nothing of a leaf, or of what is no page of a tree.
std::vector<std::int64_t> childrenOf(const TreePlace& place, std::int64_t page) {
    std::vector<unsigned char> bytes(place.pageBytes);
    const auto begin = (page - 1) * static_cast<std::int64_t>(place.pageBytes);
    if (::pread(place.file, bytes.data(), bytes.size(), begin) !=
        static_cast<ssize_t>(bytes.size()))
        return {};
    const std::size_t header = page == 1 ? kFileHeaderBytes : 0;
    const auto type = static_cast<PageType>(bytes[header]);
    if (type != PageType::kIndexInterior && type != PageType::kTableInterior) return {};
    const auto cells = static_cast<std::size_t>(number(&bytes[header + 3], 2));
    const std::size_t pointers = header + kHeaderBytes;
    if (pointers + 2 * cells > bytes.size()) return {};
    std::vector<std::int64_t> children;
    for (std::size_t cell = 0; cell < cells; ++cell) {
        const auto at = static_cast<std::size_t>(number(&bytes[pointers + 2 * cell], 2));
        if (at + 4 <= bytes.size()) children.push_back(number(&bytes[at], 4));
    }
    children.push_back(number(&bytes[header + 8], 4));
    return children;
}

/// Neighbours together.
void advise(const TreePlace& place, const std::vector<std::int64_t>& pages,
            const std::stop_token& stop) {
    const auto bytes = static_cast<std::int64_t>(place.pageBytes);
    for (std::size_t first = 0, next = 0; first < pages.size() && !stop.stop_requested();
         first = next) {
        for (next = first + 1; next < pages.size() && pages[next] == pages[next - 1] + 1;) ++next;
        static_cast<void>(::posix_fadvise(place.file, (pages[first] - 1) * bytes,
                                          static_cast<std::int64_t>(next - first) * bytes,
                                          POSIX_FADV_WILLNEED));
    }
}

std::vector<std::int64_t> rootsOf(Connection& connection, const std::vector<const char*>& names) {
    std::vector<std::int64_t> roots;
    auto select = connection.prepare("SELECT rootpage FROM main.sqlite_master WHERE name=?");
    for (const char* name : names) {
        if (!select) break;
        const auto row = select->bind(1, std::string_view(name)).step();
        if (row && *row) roots.push_back(select->integer(0));
        select->reset();
    }
    return roots;
}

}  // namespace

std::vector<std::int64_t> leavesOf(
    const TreePlace& place, const std::function<void(const std::vector<std::int64_t>&)>& fetch) {
    if (place.root < 1 || place.pageBytes < kFileHeaderBytes + kHeaderBytes) return {};
    const std::int64_t most =
        ::lseek(place.file, 0, SEEK_END) / static_cast<std::int64_t>(place.pageBytes);
    std::vector<std::int64_t> pages{place.root};
    for (int level = 0; level < kMostLevels; ++level) {
        fetch(pages);
        std::vector<std::int64_t> below;
        for (const std::int64_t page : pages) {
            const auto children = childrenOf(place, page);
            if (children.empty()) return below.empty() ? pages : std::vector<std::int64_t>{};
            for (const std::int64_t child : children)
                if (child > 1 && child <= most) below.push_back(child);
            // a tree has each of its pages once
            if (static_cast<std::int64_t>(below.size()) > most) return {};
        }
        pages = std::move(below);
    }
    return {};
}

void ReadAhead::start(Connection& connection, const std::vector<const char*>& names) {
    const auto pageBytes = connection.integer("PRAGMA page_size");
    if (!pageBytes) return;
    m_thread =
        std::jthread([path = connection.path(), roots = rootsOf(connection, names),
                      bytes = static_cast<std::size_t>(*pageBytes)](const std::stop_token& stop) {
            const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
            if (file < 0) return;
            for (const std::int64_t root : roots) {
                const TreePlace place{file, bytes, root};
                static_cast<void>(
                    leavesOf(place, [&](const auto& pages) { advise(place, pages, stop); }));
            }
            ::close(file);
        });
}

}  // namespace shardscope::storage
