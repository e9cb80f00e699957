// A section of the New run page: a heading that folds it, a line that sums up what is folded, and
// fields in columns. GUI thread.
#pragma once

#include <QString>
#include <QWidget>
#include <vector>

class QGridLayout;
class QLabel;
class QToolButton;

namespace shardscope::desktop {

class BoundField;

class FoldSection : public QWidget {
    Q_OBJECT

public:
    FoldSection(const QString& title, bool open, QWidget* parent);

    /// The next place from left to right, `span` of kColumns wide.
    void add(QWidget* field, int span = 1);
    void addField(BoundField* field, int span = 1);
    [[nodiscard]] const std::vector<BoundField*>& fields() const { return m_fields; }
    [[nodiscard]] QToolButton* heading() const { return m_heading; }

    [[nodiscard]] bool isOpen() const;
    void setOpen(bool open);
    /// Puts what another section has taken from it meanwhile back to its place.
    void takeBack();
    /// Holds nothing any more; others have taken back what was in it.
    void forget();
    /// Shown while folded.
    void setSummary(const QString& summary);
    [[nodiscard]] QString summary() const;

    static constexpr int kColumns = 3;

protected:
    void changeEvent(QEvent* event) override;

private:
    struct Place {
        QWidget* widget;
        int row, column, span;
    };

    void showState();

    QToolButton* m_heading;
    QLabel* m_summary;
    QWidget* m_body;
    QGridLayout* m_grid;
    std::vector<BoundField*> m_fields;
    std::vector<Place> m_places;
    int m_row = 0, m_column = 0;
};

}  // namespace shardscope::desktop
