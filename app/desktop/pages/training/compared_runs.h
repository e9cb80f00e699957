// Curves of other recordings beside those of the open one, read on a thread of their own. GUI
// thread; no answer comes after its end.
#pragma once

#include "app/desktop/loading/other_recordings.h"
#include "app/desktop/models/training_figures.h"

#include <QObject>
#include <QString>
#include <vector>

namespace shardscope::desktop {

class ComparedRuns : public QObject {
    Q_OBJECT

public:
    explicit ComparedRuns(QObject* parent = nullptr) : QObject(parent) {}

    /// A file that is already among them is read again.
    void add(const QString& path);
    void clear();
    [[nodiscard]] const std::vector<ComparedRun>& runs() const { return m_runs; }

Q_SIGNALS:
    void changed();
    void failed(const QString& path, const QString& message);

private:
    void take(ComparedRun run);

    std::vector<ComparedRun> m_runs;
    int m_asked = 0;
    OtherRecordings m_recordings{"curves"};
};

}  // namespace shardscope::desktop
