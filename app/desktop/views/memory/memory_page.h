// Memory: bytes by category over time, one picture a rank, against what theory says, and what
// made the peak. Asks for its columns by a signal. GUI thread.
#pragma once

#include "app/desktop/models/timeline_frame.h"
#include "app/desktop/views/recording_page.h"

#include <vector>

class QLabel;
class QPushButton;
class QVBoxLayout;

namespace shardscope::desktop {

class DataTable;
class Legend;
class StackedArea;
class StackedBars;

class MemoryPage : public RecordingPage {
    Q_OBJECT

public:
    explicit MemoryPage(SelectionModel& selection, QWidget* parent = nullptr);
    void showFrame(const MemoryFramePtr& frame);

Q_SIGNALS:
    void columnsRequested(const shardscope::desktop::MemoryQuery& query);

protected:
    void present() override;
    void showEvent(QShowEvent* event) override;

private:
    QWidget* buildContent();
    QWidget* buildSide(QWidget* parent);
    void request();
    void placePictures(std::size_t ranks);
    void fillPicture(StackedArea& picture, const MemoryColumns& columns, double highest);
    void presentPeak();
    void showPeakStep();

    std::vector<StackedArea*> m_pictures;
    QVBoxLayout* m_pictureColumn = nullptr;
    Legend* m_legend = nullptr;
    DataTable* m_table = nullptr;
    StackedBars* m_bars = nullptr;
    QLabel* m_peakWords = nullptr;
    QPushButton* m_showPeak = nullptr;
    DataTable* m_owners = nullptr;
    MemoryFramePtr m_frame;
};

}  // namespace shardscope::desktop
