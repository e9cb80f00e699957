// Recordings that the open one is compared with, by their files: one list for all pages.
// GUI thread; owned by the shell, borrowed by pages.
#pragma once

#include "app/desktop/models/open_recording.h"

#include <QObject>
#include <QString>
#include <QStringList>

namespace shardscope::desktop {

class ComparedFiles : public QObject {
    Q_OBJECT

public:
    explicit ComparedFiles(QObject* parent = nullptr) : QObject(parent) {}

    [[nodiscard]] const QStringList& files() const { return m_files; }
    /// Behind the others; one that is among them stays where it is.
    void add(const QString& path);
    void remove(const QString& path);
    /// The open recording, and the others: those that are not it by another name.
    [[nodiscard]] QStringList withOpen(const OpenRecording& open) const;
    /// These instead.
    void set(const QStringList& paths);

Q_SIGNALS:
    void changed();

private:
    QStringList m_files;
};

}  // namespace shardscope::desktop
