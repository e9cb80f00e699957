// A divider that the user moves: with the pointer, or with the arrow keys once it has the focus.
// Until then, and after a double click, its two parts have the sizes that the page prefers. GUI
// thread.
#pragma once

#include <QSplitter>
#include <map>

namespace shardscope::desktop {

class Splitter : public QSplitter {
    Q_OBJECT

public:
    /// `name`: under which layouts keep it; `spoken`: for screen readers.
    Splitter(Qt::Orientation orientation, const QString& name, const QString& spoken,
             QWidget* parent = nullptr);
    /// Of the part at `index`, as long as the user has not moved the divider; the first part takes
    /// what is left.
    void setPreferredSize(int index, int pixels);
    /// Of all parts, instead: what they have of the room.
    void setPreferredShares(const QList<int>& shares);
    [[nodiscard]] bool isMoved() const { return m_moved; }
    /// As kept by state(); empty: as the page prefers.
    void setState(const QByteArray& state);
    /// Empty: the user has not moved it.
    [[nodiscard]] QByteArray state() const;
    void forgetMove();
    void moveBy(int pixels);

protected:
    QSplitterHandle* createHandle() override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;

private:
    void prefer();
    [[nodiscard]] int room() const;

    QString m_spoken;
    std::map<int, int> m_preferred;
    QList<int> m_shares;
    bool m_moved = false;
};

}  // namespace shardscope::desktop
