// Figures against targets: an arc each from 0 to its most, a tick at the target, and the verdict in
// words. GUI thread.
#pragma once

#include "app/desktop/widgets/spoken_picture.h"

#include <QString>
#include <QWidget>
#include <optional>
#include <vector>

namespace shardscope::desktop {

struct Gauge {
    QString name;
    QString value;                 ///< "75.8 %", or why it cannot be told
    std::optional<double> share;   ///< of the arc, 0 to 1; none: it cannot be told
    std::optional<double> target;  ///< of the arc
    QString verdict;               ///< "PASS ≥ 40 %"; empty: it has no target
    bool good = true;
    QString definition;
};

class Gauges : public QWidget {
    Q_OBJECT

public:
    explicit Gauges(QWidget* parent = nullptr);
    void setGauges(std::vector<Gauge> gauges);

    [[nodiscard]] QSize sizeHint() const override { return {360, 200}; }
    [[nodiscard]] QSize minimumSizeHint() const override { return {200, 128}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    [[nodiscard]] QRectF cell(std::size_t gauge) const;
    void paintGauge(QPainter& painter, const Gauge& gauge, const QRectF& area) const;

    SpokenPicture m_spoken{*this};
    std::vector<Gauge> m_gauges;
};

}  // namespace shardscope::desktop
