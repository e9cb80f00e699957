// Stacks of what is compared as a differential flame graph, with its switches. GUI thread.
#pragma once

#include "app/desktop/loading/other_recordings.h"
#include "app/desktop/models/flame_data.h"
#include "app/desktop/models/selection.h"
#include "profiler/questions/read_stacks.h"

#include <QString>
#include <QWidget>
#include <memory>
#include <optional>
#include <vector>

class QComboBox;
class QLabel;
class QLineEdit;

namespace shardscope::desktop {

// The differential flame graph of the Compare page: what it reads, on the thread of
// OtherRecordings, and what it shows and says of it. Results are immutable.

/// What cells are as wide as.
enum class FlameWidth : std::uint8_t { kJudged, kBaseline };

struct ComparedStacks {
    std::vector<questions::StackKind> kinds;  ///< to choose from
    std::optional<questions::StackKind> kind;
    std::shared_ptr<const FlameData> byJudged, byBaseline;  ///< without what has no width there
    QString before, after;  ///< letters of the first baseline and of the judged one
    QString note;           ///< what is compared, and what is in one of them alone
    [[nodiscard]] const std::shared_ptr<const FlameData>& by(FlameWidth width) const {
        return width == FlameWidth::kJudged ? byJudged : byBaseline;
    }
};
using ComparedStacksPtr = std::shared_ptr<const ComparedStacks>;

/// Of the first baseline and the run that is judged.
[[nodiscard]] Result<ComparedStacksPtr> readComparedStacks(
    const OtherRecordings::Readers& readers, const Selection& selection,
    std::optional<questions::StackKind> wanted);

/// Changes are full-coloured from a half more or less on; those of less than 1 % are none.
[[nodiscard]] FlameData differenceFlame(const analysis::CallDifference& difference,
                                        FlameWidth width, const QString& whole);
[[nodiscard]] QString differenceNote(const questions::StackDifference& difference,
                                     std::size_t recordings);

class FlameGraph;

class StackPanel : public QWidget {
    Q_OBJECT

public:
    explicit StackPanel(QWidget* parent = nullptr);
    void setStacks(const ComparedStacksPtr& stacks);
    /// Until there are some, or why there are none.
    void showNothing(const QString& why);
    void focusSearch();
    [[nodiscard]] const FlameGraph& graph() const { return *m_graph; }

Q_SIGNALS:
    void kindWanted(shardscope::questions::StackKind kind);
    void hoverChanged(const QString& text);

private:
    QWidget* buildControls();
    void nameWidths(const QString& before, const QString& after);
    void present();
    void search();
    void noteZoom();

    ComparedStacksPtr m_stacks;
    QComboBox *m_kinds, *m_width;
    QLineEdit* m_search;
    QLabel *m_found, *m_note, *m_zoom;
    FlameGraph* m_graph;
};

}  // namespace shardscope::desktop
