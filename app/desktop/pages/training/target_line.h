// Figures against their targets in a line, with the targets to edit. GUI thread.
#pragma once

#include "app/desktop/models/targets.h"
#include "app/desktop/models/training_figures.h"

#include <QWidget>
#include <array>
#include <vector>

class QDoubleSpinBox;
class QLabel;

namespace shardscope::desktop {

class TargetLine : public QWidget {
    Q_OBJECT

public:
    explicit TargetLine(const Targets& targets, QWidget* parent = nullptr);
    [[nodiscard]] Targets targets() const;
    void setRows(const std::vector<TargetRow>& rows);

Q_SIGNALS:
    void targetsChanged(const shardscope::desktop::Targets& targets);

private:
    std::array<QLabel*, 3> m_labels{};
    std::array<QDoubleSpinBox*, 3> m_values{};
};

}  // namespace shardscope::desktop
