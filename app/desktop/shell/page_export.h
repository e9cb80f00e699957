// Keeps what a page shows as a file: PNG, SVG or PDF. GUI thread.
#pragma once

#include "app/desktop/pages/page.h"

#include <QString>
#include <functional>

namespace shardscope::desktop {

/// Asks for a file, `name` suggested without its ending, and draws the page into it. `tell` hears
/// what became of it, in a sentence; nothing where the user changes their mind.
void exportPage(Page& page, const QString& name, const std::function<void(const QString&)>& tell);

/// The page into `path`, by its ending. The sentence to tell.
[[nodiscard]] QString exportedTo(Page& page, const QString& path);

}  // namespace shardscope::desktop
