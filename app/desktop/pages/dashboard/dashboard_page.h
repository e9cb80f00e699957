// The dashboard: a run on one sheet, to look at, to print and to keep. GUI thread.
#pragma once

#include "app/desktop/loading/topic.h"
#include "app/desktop/models/targets.h"
#include "app/desktop/pages/dashboard/dashboard_model.h"
#include "app/desktop/pages/recording_page.h"

#include <QString>

namespace shardscope::desktop {

class DashboardSheet;

class DashboardPage : public RecordingPage {
    Q_OBJECT

public:
    explicit DashboardPage(PageContext& context, QWidget* parent = nullptr);
    static PageEntry entry();

    /// Null until it was read.
    [[nodiscard]] const DashboardPtr& dashboard() const { return m_dashboard; }
    [[nodiscard]] std::vector<KeyNote> keyNotes() const override;
    [[nodiscard]] DrawnPicture drawn(QSize size, bool dark) override;

protected:
    void present() override;

private:
    void buildActions();
    void choosePrinter();

    QString m_settingsFile;
    Topic m_reading;
    DashboardSheet* m_sheet = nullptr;
    DashboardPtr m_dashboard;
};

}  // namespace shardscope::desktop
