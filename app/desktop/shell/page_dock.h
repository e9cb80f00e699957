// A page out of the middle: docked beside it, or a window of its own, under a bar with its name.
// GUI thread.
#pragma once

#include <QDockWidget>

namespace shardscope::desktop {

class PageDock : public QDockWidget {
    Q_OBJECT

public:
    /// Takes the page. `id`: under which layouts keep it.
    PageDock(const QString& id, const QString& name, QWidget* page, QWidget* parent = nullptr);
    [[nodiscard]] const QString& id() const { return m_id; }
    /// Gives the page up; it has no parent then.
    QWidget* release();
    /// Of the window that it is: which recording it shows.
    void setRecordingName(const QString& name);

Q_SIGNALS:
    /// The user wants the page in the middle again.
    void returnRequested(const QString& id);

protected:
    void closeEvent(QCloseEvent* event) override;
    bool focusNextPrevChild(bool next) override;

private:
    void chooseBar();

    QString m_id, m_name, m_recording;
    QWidget *m_page, *m_bar;
};

}  // namespace shardscope::desktop
