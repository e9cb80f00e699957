// Which tables and columns statements in SQL can name: to complete them, and to list them.
#pragma once

#include "storage/recording/read/recording_reader.h"

#include <string>
#include <vector>

namespace shardscope::storage {

struct SchemaTable {
    std::string name;
    std::vector<std::string> columns;  ///< as the table has them
    bool operator==(const SchemaTable&) const = default;
};

/// Tables of the file, `events` and the views of it (storage/schema/FORMAT.md), by name. Works
/// through any reader.
[[nodiscard]] Result<std::vector<SchemaTable>> readSchema(RecordingReader& reader);

}  // namespace shardscope::storage
