// A line across the window while the host of the open recording cannot be asked, with the way back.
#pragma once

#include <QWidget>

class QPushButton;

namespace shardscope::desktop {

class Banner;

class ConnectionBar : public QWidget {
    Q_OBJECT

public:
    explicit ConnectionBar(QWidget* parent = nullptr);
    /// `action`: what the button says.
    void showLoss(const QString& message, const QString& action);
    [[nodiscard]] QString text() const;

Q_SIGNALS:
    void reconnectRequested();

private:
    Banner* m_banner;
    QPushButton* m_button;
};

}  // namespace shardscope::desktop
