// Recordings opened lately, with what a row of the Start page shows of each. Kept as JSON in
// the user's state folder. GUI thread.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "engine/run/protocol/progress.h"

#include <QObject>
#include <QPointF>
#include <QString>
#include <QVector>
#include <vector>

namespace shardscope::desktop {

struct RecentFile {
    QString path;
    QString title;       ///< "shakespeare · zero3 × 2"
    QString throughput;  ///< "2,074 tok/s"
    QString opened;      ///< ISO 8601, local
    QString recorded;    ///< the same, when its run began; empty: unknown
    QVector<QPointF> loss;
};

class RecentFiles : public QObject {
    Q_OBJECT

public:
    /// `storePath` empty: remembers nothing beyond this process.
    explicit RecentFiles(const QString& storePath, QObject* parent = nullptr);
    [[nodiscard]] const std::vector<RecentFile>& files() const { return m_files; }
    void add(const OpenRecording& recording, const QString& now);
    /// A run that begins: one that is let go before it can be read is found here too.
    void add(const run::RunStarted& started, const QString& now);
    void remove(const QString& path);

Q_SIGNALS:
    void changed();

private:
    void put(RecentFile file);
    void load();
    void save() const;

    QString m_storePath;
    std::vector<RecentFile> m_files;
};

}  // namespace shardscope::desktop
