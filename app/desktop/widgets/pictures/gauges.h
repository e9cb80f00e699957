// Figures against targets: an arc each from 0 to its most, a tick at the target, and the verdict in
// words. GUI thread.
#pragma once

#include "app/desktop/widgets/pictures/picture.h"

#include <QString>
#include <optional>
#include <vector>

namespace shardscope::desktop {

struct Gauge {
    QString name;
    QString value;                 ///< "75.8 %", or why it is unknown
    std::optional<double> share;   ///< of the arc, 0 to 1; none: it is unknown
    std::optional<double> target;  ///< of the arc
    QString verdict;               ///< "PASS ≥ 40 %"; empty: it has no target
    bool good = true;
    QString definition;
};

class Gauges : public Picture {
    Q_OBJECT

public:
    explicit Gauges(QWidget* parent = nullptr);
    void setGauges(std::vector<Gauge> gauges);

    [[nodiscard]] QSize sizeHint() const override { return {360, 200}; }
    [[nodiscard]] QSize minimumSizeHint() const override { return {200, 128}; }

protected:
    [[nodiscard]] int count() const override { return static_cast<int>(m_gauges.size()); }
    [[nodiscard]] QRectF placeOf(int gauge) const override;
    [[nodiscard]] QString textOf(int gauge) const override;
    void paint(QPainter& painter) override;

private:
    void paintGauge(QPainter& painter, const Gauge& gauge, const QRectF& area) const;

    std::vector<Gauge> m_gauges;
};

}  // namespace shardscope::desktop
