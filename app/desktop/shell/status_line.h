// The status bar: what is under the pointer, what is being worked on, facts of the file.
#pragma once

#include <QWidget>

class QLabel;

namespace shardscope::desktop {

class StatusLine : public QWidget {
    Q_OBJECT

public:
    explicit StatusLine(QWidget* parent = nullptr);
    void setHover(const QString& text);
    /// A sentence that stays until the next one; empty: none.
    void setMessage(const QString& text);
    void setFacts(const QString& text);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void present();

    QLabel* m_left;
    QLabel* m_right;
    QString m_hover, m_message;
};

}  // namespace shardscope::desktop
