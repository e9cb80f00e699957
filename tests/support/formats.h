// Formats by name, for tests of one of them.
#pragma once

#include "storage/interchange/formats.h"

namespace shardscope::interchange {

inline Result<ExportAccount> exportAs(const char* format, storage::RecordingReader& reader,
                                      const ExportOptions& options) {
    return findFormat(format)->write(reader, options);
}

inline Result<ReaderResult> readAs(const char* format, const ReaderRequest& request) {
    return findFormat(format)->read(request);
}

}  // namespace shardscope::interchange
