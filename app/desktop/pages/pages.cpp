#include "app/desktop/pages/pages.h"

#include "app/desktop/pages/communication/communication_page.h"
#include "app/desktop/pages/compare/compare_page.h"
#include "app/desktop/pages/dashboard/dashboard_page.h"
#include "app/desktop/pages/efficiency/efficiency_page.h"
#include "app/desktop/pages/live/live_page.h"
#include "app/desktop/pages/memory/memory_page.h"
#include "app/desktop/pages/newrun/new_run_page.h"
#include "app/desktop/pages/operators/operators_page.h"
#include "app/desktop/pages/overview/overview_page.h"
#include "app/desktop/pages/plan/plan_page.h"
#include "app/desktop/pages/problems/problems_page.h"
#include "app/desktop/pages/sql/sql_page.h"
#include "app/desktop/pages/start/start_page.h"
#include "app/desktop/pages/timeline/timeline_page.h"
#include "app/desktop/pages/training/training_page.h"

namespace shardscope::desktop {

std::vector<PageEntry> allPages() {
    return {StartPage::entry(),         NewRunPage::entry(),    LivePage::entry(),
            OverviewPage::entry(),      TimelinePage::entry(),  MemoryPage::entry(),
            CommunicationPage::entry(), OperatorsPage::entry(), TrainingPage::entry(),
            EfficiencyPage::entry(),    ComparePage::entry(),   ProblemsPage::entry(),
            DashboardPage::entry(),     PlanPage::entry(),      SqlPage::entry()};
}

QStringList pageIds() {
    QStringList ids;
    for (const PageEntry& page : allPages()) ids << page.id;
    return ids;
}

}  // namespace shardscope::desktop
