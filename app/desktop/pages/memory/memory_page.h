// Memory: bytes by category over time, one picture a rank, against what theory says, and what
// made the peak. GUI thread.
#pragma once

#include "app/desktop/pages/memory/memory_query.h"
#include "app/desktop/pages/memory/moment_query.h"
#include "app/desktop/pages/recording_page.h"

#include <optional>
#include <vector>

class QLabel;
class QPushButton;
class QVBoxLayout;

namespace shardscope::desktop {

class DataTable;
class Legend;
class MomentPanel;
class StackedArea;
class StackedBars;

class MemoryPage : public RecordingPage {
    Q_OBJECT

public:
    [[nodiscard]] static PageEntry entry();
    explicit MemoryPage(PageContext& context, QWidget* parent = nullptr);
    [[nodiscard]] std::vector<KeyNote> keyNotes() const override;
    [[nodiscard]] const MomentPanel& moment() const { return *m_moment; }

protected:
    void present() override;
    void showEvent(QShowEvent* event) override;

private:
    QWidget* buildContent();
    QWidget* buildOverTime(QWidget* parent);
    QWidget* buildSide(QWidget* parent);
    void request();
    void requestMoment();
    void showFrame(const MemoryFramePtr& frame);
    void placePictures(std::size_t ranks);
    void fillPicture(StackedArea& picture, const MemoryColumns& columns, double highest);
    void pickTime(const StackedArea* picture, Timestamp time);
    void presentMoment(const MomentFramePtr& frame, bool isPeak);
    void showPeakStep();
    [[nodiscard]] std::optional<StepIndex> peakStep() const;
    [[nodiscard]] double nearLimit(double highest) const;

    Topic m_columns;
    std::vector<StackedArea*> m_pictures;
    QVBoxLayout* m_pictureColumn = nullptr;
    Legend* m_legend = nullptr;
    DataTable* m_table = nullptr;
    StackedBars* m_bars = nullptr;
    QLabel* m_more = nullptr;  ///< that there are more ranks than pictures
    QLabel* m_ownersTitle = nullptr;
    QLabel* m_peakWords = nullptr;
    QPushButton* m_showPeak = nullptr;
    DataTable* m_owners = nullptr;
    MomentPanel* m_moment = nullptr;
    MemoryFramePtr m_frame;
    std::optional<MomentQuery> m_chosen;  ///< a time that was clicked at; else the peak
    Selection m_chosenIn;                 ///< the selection then
};

}  // namespace shardscope::desktop
