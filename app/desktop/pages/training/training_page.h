// Training: loss, learning rate, gradient norm and throughput over the same steps, with one
// cursor. GUI thread.
#pragma once

#include "app/desktop/pages/recording_page.h"

#include <vector>

namespace shardscope::desktop {

class ChartPanel;

class TrainingPage : public RecordingPage {
    Q_OBJECT

public:
    [[nodiscard]] static PageEntry entry();
    explicit TrainingPage(PageContext& context, QWidget* parent = nullptr);

protected:
    void present() override;

private:
    std::vector<ChartPanel*> m_charts;
};

}  // namespace shardscope::desktop
