// Whether what one thread or stream does is one nested track or has its kinds apart: kept in the
// settings file. GUI thread.
#pragma once

#include <QString>

namespace shardscope::desktop {

/// `file`: an ini file; empty, or without it: nested.
[[nodiscard]] bool readNested(const QString& file);
/// Keeps nothing where `file` is empty.
void writeNested(const QString& file, bool nested);

}  // namespace shardscope::desktop
