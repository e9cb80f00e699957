// Whether rows of the table `arguments` are sound, and which ids they hold. Part of verify and
// repair.
#pragma once

#include "storage/model/ids.h"
#include "storage/recording/file/argument_form.h"
#include "storage/sqlite/connection.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace shardscope::storage {

/// Ids from `first` up.
struct IdRun {
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    [[nodiscard]] std::uint64_t end() const { return std::uint64_t{first} + count; }
};

/// Ids as runs; sorts them.
[[nodiscard]] std::vector<IdRun> runsOf(std::vector<std::uint32_t>& ids);

class ArgumentAudit {
public:
    static Result<ArgumentAudit> create(Connection& connection);

    /// Looks at one row; what is wrong with it, or nothing. Its ids count as held when it is sound.
    std::optional<std::string> check(RankId rank, std::int64_t first, std::int64_t count,
                                     std::span<const std::byte> data);

    [[nodiscard]] bool holds(RankId rank, StringId id) const;
    /// Those of `run` that no sound row holds.
    [[nodiscard]] std::vector<IdRun> missing(RankId rank, IdRun run) const;

private:
    struct Form {
        std::uint32_t values = 0;
        std::vector<TextValue> texts;
    };
    explicit ArgumentAudit(Statement select) : m_select(std::move(select)) {}
    [[nodiscard]] const std::optional<std::string>& stringOf(RankId rank, StringId id);
    /// Whether the string is there, and of a list all that it lists.
    [[nodiscard]] bool isText(RankId rank, StringId id, bool list);
    [[nodiscard]] std::optional<Form> formOf(RankId rank, StringId id);

    Statement m_select;
    std::unordered_map<std::uint64_t, std::optional<std::string>> m_strings;
    std::unordered_set<std::uint64_t> m_soundLists;
    std::map<std::pair<RankId, std::uint32_t>, std::uint32_t> m_held;  ///< first id to count
};

}  // namespace shardscope::storage
