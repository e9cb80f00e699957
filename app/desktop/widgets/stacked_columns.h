// Stacked columns over an index (steps), value axis on the left. GUI thread.
#pragma once

#include "app/desktop/models/chart_data.h"
#include "app/desktop/widgets/axis.h"
#include "app/desktop/widgets/spoken_picture.h"

#include <QStringList>
#include <QWidget>
#include <vector>

namespace shardscope::desktop {

class StackedColumns : public QWidget {
    Q_OBJECT

public:
    explicit StackedColumns(QWidget* parent = nullptr);
    void setColumns(std::vector<StackedBar> columns);
    void setTitles(const QString& left, const QString& bottom);
    [[nodiscard]] QSize sizeHint() const override { return {400, 208}; }
    [[nodiscard]] QSize minimumSizeHint() const override { return {240, 160}; }

Q_SIGNALS:
    void columnActivated(int column);

protected:
    void paintEvent(QPaintEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    [[nodiscard]] QRectF plot() const;
    [[nodiscard]] int columnAt(double x) const;
    [[nodiscard]] QStringList linesOf(int column) const;
    void describe();
    void moveCursor(int column);
    [[nodiscard]] double highest() const;
    void paintColumns(QPainter& painter, const AxisRange& range) const;

    SpokenPicture m_spoken{*this};
    std::vector<StackedBar> m_columns;
    QString m_leftTitle, m_bottomTitle;
    int m_cursor = -1;  ///< of pointer or keys
};

}  // namespace shardscope::desktop
