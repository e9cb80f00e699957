// Arguments of spans as JSON, from their columns. On the thread that reads the file.
#pragma once

#include "storage/columns/arguments.h"
#include "storage/recording/file/argument_form.h"
#include "storage/sqlite/connection.h"

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::storage {

class ArgumentTexts {
public:
    /// Text of a string of a rank that is no arguments.
    using StringOf = std::function<std::optional<std::string_view>(RankId, StringId)>;

    /// The JSON of `id`, for which isArguments() holds; empty when the span has none or they are
    /// damaged. Valid until the next call.
    std::string_view text(Connection& connection, RankId rank, StringId id,
                          const StringOf& stringOf);

    /// The same from what was read before, without the file; nothing where that does not suffice.
    std::optional<std::string_view> known(RankId rank, StringId id, const StringOf& stringOf);

    /// Forgets what is stored where: the file has grown. Rows that are there stay as they are.
    void forgetDirectory() { m_directory.reset(); }

private:
    struct Entry {
        std::int64_t id = 0;
        RankId rank;
        std::uint32_t first = 0;
        std::uint32_t count = 0;
    };
    struct Chunk {
        Entry entry;
        columns::ArgumentRows rows;
        std::vector<std::uint32_t> starts;  ///< where each row's values begin
    };
    [[nodiscard]] const Entry* entryOf(Connection& connection, RankId rank, StringId id);
    [[nodiscard]] const Chunk* openChunk(RankId rank, StringId id);
    [[nodiscard]] const Chunk* chunkOf(Connection& connection, RankId rank, StringId id);
    std::optional<std::string_view> textOf(const Chunk& chunk, RankId rank, StringId id,
                                           const StringOf& stringOf);

    std::unique_ptr<std::vector<Entry>> m_directory;  ///< by rank and first id
    std::list<Chunk> m_open;                          ///< used last first
    std::string m_text;
};

}  // namespace shardscope::storage
