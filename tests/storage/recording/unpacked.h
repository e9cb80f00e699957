// Rows of a finalised recording back in their tables, for tests that damage one of them.
#pragma once

#include "storage/recording/file/packed_rows.h"

#include <string>

namespace shardscope::storage {

inline Result<void> unpackInPlace(Connection& connection) {
    const auto made = unpackRows(connection, "unpacked_");
    if (!made) return failure(made);
    for (const std::string& table : *made) {
        const std::string name = table.substr(std::string("unpacked_").size());
        if (auto done =
                connection.execute("CREATE TABLE main." + name + " AS SELECT * FROM temp." + table);
            !done)
            return done;
    }
    return connection.execute("DELETE FROM main.packed");
}

}  // namespace shardscope::storage
