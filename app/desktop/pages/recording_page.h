// What pages about a recording have in common: the five states, the recording, the selection.
// GUI thread.
#pragma once

#include "app/desktop/models/findings.h"
#include "app/desktop/models/open_recording.h"
#include "app/desktop/models/selection.h"
#include "app/desktop/pages/page.h"
#include "app/desktop/widgets/page_frame.h"

#include <string>
#include <vector>

namespace shardscope::desktop {

class MessageState;

class RecordingPage : public Page {
    Q_OBJECT

public:
    explicit RecordingPage(PageContext& context, QWidget* parent = nullptr);

    [[nodiscard]] const PageFrame& frame() const { return *m_frame; }
    /// All of it, below a line that says of what it is.
    [[nodiscard]] DrawnPicture drawn(QSize size, bool dark) override;

protected:
    /// To be called once by the page's constructor.
    void setUp(QWidget* content, const QString& icon, const QString& emptyTitle,
               const QString& emptyText, std::vector<QRectF> skeleton, bool scrolls);
    /// What leads out of the page that shows nothing yet: by setUp().
    virtual void addWays(MessageState& empty);
    /// Whether it can show a recording whose events and report are still on their way.
    [[nodiscard]] virtual bool showsSketches() const { return false; }
    /// The recording, the selection or the figures of what is selected changed; there is a
    /// recording, and the page is seen.
    virtual void present() = 0;
    [[nodiscard]] const OpenRecording& recording() const { return *m_recording; }
    /// What is selected, with its figures; may still be that of the selection before. Not there for
    /// sketches.
    [[nodiscard]] const SelectedPart& part() const { return *m_part.current(); }
    [[nodiscard]] const PartPtr& currentPart() const { return m_part.current(); }
    [[nodiscard]] bool hasPart() const { return m_part.current() != nullptr; }
    void showEvent(QShowEvent* event) override;
    /// Selects `evidence` and shows it on another page.
    void showElsewhere(const QString& page, const Selection& evidence);
    /// The page that shows what a finding is about, with its slice selected.
    void showFinding(const Finding& finding);
    [[nodiscard]] const RecordingPtr& shownRecording() const { return m_recording; }
    [[nodiscard]] bool hasRecording() const { return m_recording != nullptr; }
    [[nodiscard]] SelectionModel& selection() const { return m_selection; }
    [[nodiscard]] PageFrame& pageFrame() { return *m_frame; }

private:
    void showLoading(const QString& path);
    void showError(const QString& message);
    void showRecording(const RecordingPtr& recording);
    void beginAtTheTop();
    void showLimits();
    void presentOnceSeen();

    SelectionModel& m_selection;
    PartLoader& m_part;
    PageFrame* m_frame = nullptr;
    RecordingPtr m_recording;
    std::string m_shownId;  ///< of the run that was shown last
    double m_imported = 0;  ///< share, of what is being imported
    bool m_isDue = false;   ///< something changed since it was last seen
};

}  // namespace shardscope::desktop
