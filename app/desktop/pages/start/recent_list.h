// Recent recordings as rows: name, facts, trend of the loss. Missing files are greyed and say
// so. GUI thread.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "engine/run/protocol/progress.h"

#include <QObject>
#include <QPointF>
#include <QString>
#include <QStringList>
#include <QVector>
#include <QWidget>
#include <vector>

class QVBoxLayout;

namespace shardscope::desktop {

// Recordings opened lately, with what a row of the Start page shows of each. Kept as JSON in
// the user's state folder. GUI thread.

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

class RecentList : public QWidget {
    Q_OBJECT

public:
    explicit RecentList(QWidget* parent = nullptr);
    void setFiles(const std::vector<RecentFile>& files);
    /// Rows that were marked by Ctrl+click or Ctrl+Space, to be compared; in the order of the list.
    [[nodiscard]] QStringList marked() const;

Q_SIGNALS:
    void chosen(const QString& path);
    void markedChanged();
    void compareRequested(const QString& path);
    void removeRequested(const QString& path);

private:
    void showMenu(const QString& path, QPoint at);

    QVBoxLayout* m_layout;
    QStringList m_files, m_marked;
};

}  // namespace shardscope::desktop
