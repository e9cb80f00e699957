#include "app/desktop/views/pages.h"

#include "app/desktop/views/live/live_page.h"
#include "app/desktop/views/memory/memory_page.h"
#include "app/desktop/views/newrun/new_run_page.h"
#include "app/desktop/views/overview/overview_page.h"
#include "app/desktop/views/start/start_page.h"
#include "app/desktop/views/timeline/timeline_page.h"
#include "app/desktop/views/training/training_page.h"

namespace shardscope::desktop {

const std::vector<PageEntry>& allPages() {
    static const std::vector<PageEntry> pages{
        StartPage::entry(),    NewRunPage::entry(), LivePage::entry(),    OverviewPage::entry(),
        TimelinePage::entry(), MemoryPage::entry(), TrainingPage::entry()};
    return pages;
}

QStringList pageIds() {
    QStringList ids;
    for (const PageEntry& page : allPages()) ids << page.id;
    return ids;
}

}  // namespace shardscope::desktop
