#include "storage/recording/read/rank_strings.h"

#include <cstdlib>

namespace shardscope::storage {

Result<RankStrings> readStrings(RecordingReader& reader, RankId rank) {
    const std::string number = std::to_string(rank.value);
    auto table = reader.query("SELECT id, text FROM strings WHERE rank=" + number + " ORDER BY id");
    if (!table) return failure(table);
    RankStrings strings;
    strings.texts.reserve(table->rows.size());
    for (auto& row : table->rows) {
        if (!row[0] || !row[1]) continue;
        const auto id = static_cast<std::uint32_t>(std::strtoul(row[0]->c_str(), nullptr, 10));
        strings.texts.emplace_back(StringId{id}, std::move(*row[1]));
    }
    // older recordings have no such table
    const auto arguments =
        reader.query("SELECT 1 FROM arguments WHERE rank=" + number + " LIMIT 1");
    strings.hasArguments = arguments && !arguments->rows.empty();
    return strings;
}

}  // namespace shardscope::storage
