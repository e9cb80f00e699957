// The whole run in one strip: density of compute and of waiting, step ticks, and
// the visible part as a frame to drag. GUI thread.
#pragma once

#include "app/desktop/models/open_recording.h"

#include <QWidget>
#include <optional>

namespace shardscope::desktop {

class Minimap : public QWidget {
    Q_OBJECT

public:
    explicit Minimap(QWidget* parent = nullptr);
    void setRecording(const RecordingPtr& recording);
    void setView(TimeRange view);
    /// Where the lanes begin, and how wide they are.
    void setPlot(int left, int width);
    [[nodiscard]] QSize sizeHint() const override { return {400, 48}; }

Q_SIGNALS:
    void viewRequested(shardscope::TimeRange view);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;

private:
    [[nodiscard]] QRectF strip() const;
    void centreOn(double x);

    RecordingPtr m_recording;
    TimeRange m_view;
    int m_labelWidth;
    int m_plotWidth = 0;  ///< 0: to the right edge
};

}  // namespace shardscope::desktop
