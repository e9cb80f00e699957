// A window with its Plan page in front.
#pragma once

#include "app/desktop/pages/plan/plan_page.h"
#include "app/desktop/widgets/data_table.h"
#include "tests/app/desktop/window_fixture.h"

#include <gtest/gtest.h>

#include <QString>
#include <QTest>

namespace shardscope::desktop {

class PlanFixture : public WindowTest {
protected:
    void SetUp() override {
        WindowTest::SetUp();
        m_window->showPage(page_ids::kPlan);
        m_page = qobject_cast<PlanPage*>(m_window->page(page_ids::kPlan));
        ASSERT_NE(m_page, nullptr);
    }
    void planned() {
        ASSERT_TRUE(QTest::qWaitFor([this] { return !m_page->isReading(); }, 10'000));
    }
    [[nodiscard]] DataTable* table(const QString& name) const {
        for (DataTable* each : m_page->findChildren<DataTable*>())
            if (each->accessibleName() == name) return each;
        return nullptr;
    }

    PlanPage* m_page = nullptr;
};

}  // namespace shardscope::desktop
