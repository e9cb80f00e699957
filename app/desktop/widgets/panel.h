// A ground in the panel colour with rounded corners. GUI thread.
#pragma once

#include <QWidget>

namespace shardscope::desktop {

class Panel : public QWidget {
    Q_OBJECT

public:
    explicit Panel(QWidget* parent = nullptr) : QWidget(parent) {}

protected:
    void paintEvent(QPaintEvent* event) override;
};

}  // namespace shardscope::desktop
