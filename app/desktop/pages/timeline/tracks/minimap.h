// The whole run in one strip: how much it computed and communicated, step ticks, what was found,
// and the visible part as a frame that can be moved and pulled at its edges. GUI thread.
#pragma once

#include "app/desktop/models/open_recording.h"
#include "app/desktop/pages/timeline/tracks/minimap_density.h"
#include "app/desktop/widgets/pictures/spoken_picture.h"

#include <QWidget>
#include <optional>
#include <utility>
#include <vector>

namespace shardscope::desktop {

class Minimap : public QWidget {
    Q_OBJECT

public:
    explicit Minimap(QWidget* parent = nullptr);
    /// Null: none. Its density comes later.
    void setRecording(const RecordingPtr& recording);
    void setDensity(const MinimapDensityPtr& density);
    void setView(TimeRange view);
    /// Moments at which something was found, by time.
    void setHits(std::vector<Timestamp> hits);
    /// Where the lanes begin, and how wide they are.
    void setPlot(int left, int width);
    [[nodiscard]] QSize sizeHint() const override { return {400, 52}; }

Q_SIGNALS:
    void viewRequested(shardscope::TimeRange view);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    enum class Grip { kNone, kMove, kBegin, kEnd };
    [[nodiscard]] QRectF strip() const;
    [[nodiscard]] double xOf(Timestamp time) const;
    [[nodiscard]] Timestamp timeAt(double x) const;
    [[nodiscard]] Grip gripAt(double x) const;
    void dragTo(double x);
    void describe();
    void paintDensity(QPainter& painter, const QRectF& area) const;
    void paintSteps(QPainter& painter, const QRectF& area) const;
    void paintView(QPainter& painter, const QRectF& area) const;

    SpokenPicture m_spoken{*this};
    RecordingPtr m_recording;
    MinimapDensityPtr m_density;
    /// Begins of those of the first rank.
    std::vector<std::pair<StepIndex, Timestamp>> m_steps;
    std::vector<Timestamp> m_hits;
    TimeRange m_view;
    Grip m_grip = Grip::kNone;
    int m_labelWidth;
    int m_plotWidth = 0;  ///< 0: to the right edge
};

}  // namespace shardscope::desktop
