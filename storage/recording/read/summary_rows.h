// All small tables of a recording as one RecordingSummary. Part of the reader.
#pragma once

#include "storage/recording/file/chunk_directory.h"

namespace shardscope::storage {

Result<RecordingSummary> readSummary(Connection& connection, const ChunkDirectory& chunks);

}  // namespace shardscope::storage
