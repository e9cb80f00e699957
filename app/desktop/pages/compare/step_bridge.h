// Between two timelines: joins the borders of the steps of both, and says what each differs by.
// GUI thread.
#pragma once

#include "app/desktop/models/time_scale.h"
#include "app/desktop/pages/compare/step_pairs.h"
#include "app/desktop/widgets/pictures/picture.h"

#include <QString>
#include <vector>

namespace shardscope::desktop {

class StepBridge : public Picture {
    Q_OBJECT

public:
    explicit StepBridge(QWidget* parent = nullptr);
    /// `baseline`, `judged`: what the runs are called.
    void setPairs(const std::vector<StepPair>& pairs, const QString& baseline,
                  const QString& judged);
    /// Where the lanes above and below begin, and what they show after the first step's beginning.
    void setAxis(int left, const TimeScale& scale);

    [[nodiscard]] QSize sizeHint() const override { return {360, 34}; }
    [[nodiscard]] QSize minimumSizeHint() const override { return {200, 34}; }

protected:
    [[nodiscard]] int count() const override { return static_cast<int>(m_pairs.size()); }
    [[nodiscard]] QRectF placeOf(int item) const override;
    [[nodiscard]] QString textOf(int item) const override;
    void paint(QPainter& painter) override;

private:
    /// x of its borders above and below; of a step that one lacks its other one's.
    struct Borders {
        double aboveLeft, aboveRight, belowLeft, belowRight;
    };
    [[nodiscard]] Borders bordersOf(const StepPair& pair) const;
    void paintPair(QPainter& painter, int item) const;

    std::vector<StepPair> m_pairs;
    QString m_baseline, m_judged;
    int m_left = 0;
    TimeScale m_scale;
};

}  // namespace shardscope::desktop
