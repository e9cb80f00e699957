// Keeps the part of the open recording that is selected, with its report, for all pages: one
// selection, one set of figures. While a new one is being made the one before stays. GUI thread.
#pragma once

#include "app/desktop/loading/topic.h"
#include "app/desktop/models/selected_part.h"
#include "app/desktop/models/selection.h"
#include "profiler/questions/selection.h"

#include <QObject>

namespace shardscope::desktop {

class PartLoader : public QObject {
    Q_OBJECT

public:
    /// Both outlive it. To be made before the pages, so that it hears of a recording before them.
    PartLoader(RecordingLoader& loader, SelectionModel& selection, QObject* parent = nullptr);

    /// Null until a recording was analysed.
    [[nodiscard]] const PartPtr& current() const { return m_current; }

Q_SIGNALS:
    void changed();

private:
    void take(const PartPtr& part);
    void update();

    RecordingLoader& m_loader;
    SelectionModel& m_selection;
    Topic m_report;
    PartPtr m_current;
};

/// As questions take it.
[[nodiscard]] questions::Selection askedSelection(const Selection& selection);

/// The part of a recording that `selection` leaves. Loader thread.
Result<PartPtr> readPart(storage::RecordingReader& reader, const RecordingPtr& recording,
                         const Selection& selection);

}  // namespace shardscope::desktop
