// Swatches with names in a row that wraps. GUI thread.
#pragma once

#include "app/desktop/models/chart_data.h"

#include <QWidget>
#include <vector>

namespace shardscope::desktop {

class Legend : public QWidget {
    Q_OBJECT

public:
    explicit Legend(QWidget* parent = nullptr);
    void setEntries(std::vector<LegendEntry> entries);
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] bool hasHeightForWidth() const override { return true; }
    [[nodiscard]] int heightForWidth(int width) const override;

    /// That all entries take on one line.
    [[nodiscard]] int lineWidth() const;

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    /// Top left corner of each entry for a width.
    [[nodiscard]] std::vector<QPointF> positions(int width) const;
    [[nodiscard]] int roomOfText() const;
    void fitTip();

    std::vector<LegendEntry> m_entries;
};

}  // namespace shardscope::desktop
