// Files that are there whole or not at all, by the one rule of all commands
// (storage/recording/file/output_file.h). Any thread.
#pragma once

#include "storage/model/result.h"
#include "storage/recording/file/output_file.h"

#include <QByteArray>
#include <QString>
#include <string>

namespace shardscope::desktop {

/// As the system has it.
[[nodiscard]] std::string systemPath(const QString& path);

/// Replaces what `may.replaces` says where `may.overwrite` is set; `may.path` is the file. Errors
/// as storage::writeOutput(); what was there stays then.
Result<void> writeFile(const storage::OutputRequest& may, const QByteArray& bytes);

/// Text into a file whose name a dialog has asked for, and which it has asked to replace. Neither a
/// device nor what is not text is replaced, nor anything through a symbolic link.
Result<void> writeText(const QString& path, const QByteArray& text);

}  // namespace shardscope::desktop
