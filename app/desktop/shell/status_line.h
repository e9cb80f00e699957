// The status bar: what is under the pointer, what is being worked on, facts of the file.
#pragma once

#include <QStringList>
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
    /// A sentence that stays until another one; empty: none.
    void setMessage(const QString& text);
    /// How something ended, in the message's place until there is another message; a sentence each.
    void setOutcome(const QStringList& sentences);
    void setFacts(const QString& text);
    /// Work in the background and its share done, with a way to end it; empty: none.
    void setJob(const QString& text, double share);
    /// The same of files that are saved, beside that work: shown while there is no such work.
    void setSaving(const QString& text, double share);

Q_SIGNALS:
    void cancelRequested();
    void cancelSavingRequested();

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    struct Job {
        QString text;
        double share = 0;
        [[nodiscard]] bool isGoing() const { return !text.isEmpty(); }
    };
    void present();
    void presentJob();
    void cancelShown();

    QLabel* m_left;
    QLabel* m_right;
    QProgressBar* m_progress;
    QPushButton* m_cancel;
    QString m_hover, m_message;
    QStringList m_outcome;
    Job m_job, m_saving;
};

// A line across the window while the host of the open recording cannot be asked, or its file is
// gone, with the way back.

class Banner;

class ConnectionBar : public QWidget {
    Q_OBJECT

public:
    explicit ConnectionBar(QWidget* parent = nullptr);
    /// `action`: what the button says; empty: there is nothing to do.
    void showLoss(const QString& message, const QString& action);
    [[nodiscard]] QString text() const;

Q_SIGNALS:
    void reconnectRequested();

private:
    Banner* m_banner;
    QPushButton* m_button;
    QPushButton* m_close;
};

}  // namespace shardscope::desktop
