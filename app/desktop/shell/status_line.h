// The status bar: what is under the pointer, what is being worked on, facts of the file.
#pragma once

#include <QWidget>

class QLabel;
class QProgressBar;
class QPushButton;

namespace shardscope::desktop {

class StatusLine : public QWidget {
    Q_OBJECT

public:
    explicit StatusLine(QWidget* parent = nullptr);
    void setHover(const QString& text);
    /// A sentence that stays until the next one; empty: none.
    void setMessage(const QString& text);
    void setFacts(const QString& text);
    /// Work in the background and its share done, with a way to end it; empty: none.
    void setJob(const QString& text, double share);

Q_SIGNALS:
    void cancelRequested();

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void present();

    QLabel* m_left;
    QLabel* m_right;
    QProgressBar* m_progress;
    QPushButton* m_cancel;
    QString m_hover, m_message;
};

}  // namespace shardscope::desktop
