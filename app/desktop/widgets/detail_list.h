// Names and values in two columns with hairlines: details of a slice, facts of a run. A right click
// copies; what does not fit is said whole on hover.
#pragma once

#include <QString>
#include <QWidget>
#include <utility>
#include <vector>

namespace shardscope::desktop {

class DetailList : public QWidget {
    Q_OBJECT

public:
    explicit DetailList(QWidget* parent = nullptr);
    /// Right-aligned values that fit on one line, or left-aligned wrapping ones.
    void setRows(std::vector<std::pair<QString, QString>> rows);
    /// `nameWidth`: of the names' column at least; longer names widen it to half of the list.
    void setWraps(bool wraps, int nameWidth);
    [[nodiscard]] const std::vector<std::pair<QString, QString>>& rows() const { return m_rows; }
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;
    [[nodiscard]] bool hasHeightForWidth() const override { return m_wraps; }
    [[nodiscard]] int heightForWidth(int width) const override;

    /// The row at a height; -1: none.
    [[nodiscard]] int rowAt(int y) const;

protected:
    void paintEvent(QPaintEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    bool event(QEvent* event) override;

private:
    [[nodiscard]] int rowHeight(const QString& value, int width) const;
    [[nodiscard]] int nameWidth(int width) const;

    std::vector<std::pair<QString, QString>> m_rows;
    bool m_wraps = false;
    int m_nameWidth = 112;
    int m_widestName = 0;
};

}  // namespace shardscope::desktop
