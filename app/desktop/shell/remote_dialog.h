// Chooses a recording on another host: an address, and what lies in its folder. What is typed is
// looked up as one types; Tab completes it. GUI thread; asks through the loader, and never waits.
#pragma once

#include "storage/model/result.h"
#include "storage/recording/remote/calls.h"

#include <QDialog>
#include <QPointer>
#include <QTimer>

class QLabel;
class QLineEdit;
class QListWidget;
class QListWidgetItem;
class QPushButton;

namespace shardscope::desktop {

class RecordingLoader;

class RemoteDialog : public QDialog {
    Q_OBJECT

public:
    /// `address`: where it begins, "ssh://HOST/PATH", or empty.
    RemoteDialog(RecordingLoader& loader, const QString& address, QWidget* parent = nullptr);
    ~RemoteDialog() override;

Q_SIGNALS:
    void chosen(const QString& address);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void buildUp(const QString& address);
    /// Lists the folder that the address is in, unless it is listed.
    void look();
    void take(const QString& folder, const Result<storage::remote::FolderList>& list);
    /// Entries that begin as the address ends.
    void filter();
    /// Whether there was more of the address to add.
    bool complete();
    void enter(const QListWidgetItem& item);
    void accept() override;
    [[nodiscard]] QString folderOfAddress() const;

    QPointer<RecordingLoader> m_loader;  ///< goes before it where the window goes
    QLineEdit* m_address = nullptr;
    QListWidget* m_list = nullptr;
    QLabel* m_state = nullptr;
    QPushButton* m_open = nullptr;
    QTimer m_pause;    ///< in typing
    QString m_asked;   ///< folder that is asked for or listed, with its host
    QString m_listed;  ///< folder that the entries lie in
    storage::remote::FolderList m_found;
};

}  // namespace shardscope::desktop
