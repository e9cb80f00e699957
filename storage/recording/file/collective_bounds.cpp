#include "storage/recording/file/collective_bounds.h"

#include <charconv>
#include <string>
#include <string_view>

namespace shardscope::storage {
namespace {

constexpr std::string_view kKey = "collectives";

std::string textOf(const CollectiveBounds& bounds) {
    return std::to_string(bounds.count) + " " + std::to_string(bounds.range.begin.ns) + " " +
           std::to_string(bounds.range.end.ns);
}

/// Takes a number and the blank behind it off the front.
template <class Number>
bool take(std::string_view& text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with(' ')) text.remove_prefix(1);
    return true;
}

/// Nothing of a text that is none of ours: rows are gone through then.
std::optional<CollectiveBounds> boundsIn(std::string_view text) {
    CollectiveBounds bounds;
    const bool whole = take(text, bounds.count) && take(text, bounds.range.begin.ns) &&
                       take(text, bounds.range.end.ns) && text.empty();
    return whole ? std::optional(bounds) : std::nullopt;
}

}  // namespace

Result<CollectiveBounds> countCollectives(Connection& connection) {
    auto select =
        connection.prepare("SELECT count(*), min(start_ns), max(end_ns) FROM collectives");
    if (!select) return failure(select);
    if (auto row = select->step(); !row) return failure(row);
    return CollectiveBounds{static_cast<std::uint64_t>(select->integer(0)),
                            {{select->integer(1)}, {select->integer(2)}}};
}

Result<std::optional<CollectiveBounds>> storedCollectives(Connection& connection) {
    auto select = connection.prepare("SELECT value FROM main.meta WHERE key=?");
    if (!select) return failure(select);
    auto row = select->bind(1, kKey).step();
    if (!row) return failure(row);
    return *row ? boundsIn(select->text(0)) : std::nullopt;
}

Result<void> storeCollectiveBounds(Connection& connection) {
    const auto plain = connection.hasTable("collectives");
    if (!plain) return failure(plain);
    if (!*plain) return {};
    const auto bounds = countCollectives(connection);
    auto insert = connection.prepare("INSERT OR REPLACE INTO meta VALUES(?1, ?2)");
    if (!bounds || !insert) return bounds ? failure(insert) : failure(bounds);
    const std::string value = textOf(*bounds);
    return insert->bind(1, kKey).bind(2, std::string_view(value)).run();
}

}  // namespace shardscope::storage
