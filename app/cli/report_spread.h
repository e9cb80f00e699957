// A quantity over many ranks in one row: least, median, most, and whose that is.
#pragma once

#include "app/cli/report_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace shardscope::cli {

/// The header of spread()'s rows.
[[nodiscard]] inline TextTable spreadTable() {
    return TextTable({"", "least", "median", "most", "most on"});
}

/// `items`, at least one, have a `rank`.
template <class Item, class Value, class Text>
std::vector<std::string> spread(std::string name, std::vector<Item> items, Value value, Text text) {
    std::stable_sort(items.begin(), items.end(),
                     [&](const Item& a, const Item& b) { return value(a) < value(b); });
    const Item& most = items.back();
    const bool same = !(value(items.front()) < value(most));
    return {std::move(name), text(value(items.front())), text(value(items[items.size() / 2])),
            text(value(most)), same ? "all alike" : fmt::format("rank {}", most.rank.value)};
}

}  // namespace shardscope::cli
