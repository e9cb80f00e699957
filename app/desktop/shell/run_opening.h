// Opens the recording of the run that this window has started as soon as it can be read, quietly,
// and until the user opens something else: from then on the choice is theirs. GUI thread.
#pragma once

#include "app/desktop/loading/recording_loader.h"
#include "app/desktop/session/recorder_session.h"

#include <QObject>
#include <QString>
#include <QTimer>

namespace shardscope::desktop {

class RunOpening : public QObject {
    Q_OBJECT

public:
    /// Both outlive it.
    RunOpening(RecorderSession& session, RecordingLoader& loader, QObject* parent = nullptr);

    /// The user opens these.
    void userOpens(const QString& path);
    /// The user has opened something else since the run began.
    [[nodiscard]] bool isLeftAlone() const { return m_leftAlone; }

private:
    enum class Need { kNone, kStep, kTry, kDone };

    void begin(const run::RunStarted& started);
    void tryNow();
    void loaderOpened(const RecordingPtr& recording);
    void tryAgain(const QString& path);

    RecordingLoader& m_loader;
    QTimer m_again;
    QString m_path;
    QString m_opening;  ///< by whomever; empty: nothing is
    Need m_need = Need::kNone;
    bool m_leftAlone = false;
};

}  // namespace shardscope::desktop
