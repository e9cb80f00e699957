// Rows of text as RFC 4180 has them: commas, CRLF, quotes where they are needed. Pure.
#pragma once

#include <QString>
#include <QStringList>

namespace shardscope::desktop {

/// With its line end.
[[nodiscard]] QString csvLine(const QStringList& cells);

}  // namespace shardscope::desktop
