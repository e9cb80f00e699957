// A file that is there whole or not at all. Any thread.
#pragma once

#include "storage/model/result.h"

#include <QByteArray>
#include <QString>

namespace shardscope::desktop {

/// Replaces what has that name. kFailure with a sentence; what was there stays then.
Result<void> writeFile(const QString& path, const QByteArray& bytes);

}  // namespace shardscope::desktop
