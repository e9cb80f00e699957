// A section of the New run page: a heading that folds it, a line that sums up what is folded, and
// fields in columns. GUI thread.
#pragma once

#include <QString>
#include <QWidget>
#include <optional>
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
    /// Shows only fields whose name, flag, key or help has the text, unfolded, or nothing; empty:
    /// all of it, folded as it was. Whether a field is there.
    bool find(const QString& text);
    /// Shown while folded.
    void setSummary(const QString& summary);
    [[nodiscard]] QString summary() const;

    static constexpr int kColumns = 3;

protected:
    void changeEvent(QEvent* event) override;

private:
    void showState();

    QToolButton* m_heading;
    QLabel* m_summary;
    QWidget* m_body;
    QGridLayout* m_grid;
    std::vector<BoundField*> m_fields;
    std::vector<QWidget*> m_passedOver;  ///< hidden while something is looked for
    std::optional<bool> m_openBefore;    ///< while something is looked for
    int m_row = 0, m_column = 0;
};

}  // namespace shardscope::desktop
