// The table of what a search found. Pure.
#pragma once

#include "app/desktop/models/table_model.h"
#include "app/desktop/pages/timeline/search.h"

namespace shardscope::desktop {

[[nodiscard]] std::vector<TableColumn> foundColumns();
[[nodiscard]] TableRows foundRows(const RecordingSummary& summary, const SearchResult& result);
/// "3,402 matches", and what of them the table leaves out.
[[nodiscard]] QString foundCaption(const SearchResult& result);

}  // namespace shardscope::desktop
