// Inflates what another source gives. Part of byte_source.
#pragma once

#include "storage/interchange/byte_source.h"

namespace shardscope::interchange {

/// Several gzip members after one another are one stream. `title` is for messages.
std::unique_ptr<ByteSource> gzipSource(std::unique_ptr<ByteSource> compressed,
                                       const std::string& title, CutGzip cut);

}  // namespace shardscope::interchange
