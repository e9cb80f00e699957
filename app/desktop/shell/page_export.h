// Keeps what a page shows as a file: PNG, SVG or PDF. GUI thread.
#pragma once

#include "app/desktop/pages/page.h"

#include <QString>
#include <functional>

namespace shardscope::desktop {

/// Asks for a file, `name` suggested without its ending, draws the page, and hands both to `write`.
/// Nothing where the user changes their mind.
void exportPage(Page& page, const QString& name,
                const std::function<void(const DrawnPicture& drawn, const QString& path)>& write);

/// Writes it, by the ending of `path`: the sentence to tell. Any thread: a large picture takes a
/// while to pack.
[[nodiscard]] QString writtenText(const DrawnPicture& drawn, const QString& path);

}  // namespace shardscope::desktop
