// The bar above the lanes that searches: text, regular expression, how many were found, next and
// previous. Enter and Shift+Enter go through them, Escape closes. Decides nothing. GUI thread.
#pragma once

#include "app/desktop/pages/timeline/tables/search.h"

#include <QWidget>

class QCheckBox;
class QLabel;
class QLineEdit;

namespace shardscope::desktop {

class FindBar : public QWidget {
    Q_OBJECT

public:
    explicit FindBar(QWidget* parent = nullptr);
    /// Shows it with its text selected.
    void open();
    void close();
    [[nodiscard]] SearchText search() const;
    void setText(const QString& text);
    /// `current`: which of the hits one looks at, from 0; -1: none yet. `where`: of it, what is to
    /// be said.
    void showResult(const SearchResult& result, int current, const QString& where = {});
    void showNothing();
    [[nodiscard]] QString status() const;

Q_SIGNALS:
    void searchChanged();
    /// 1: the next, -1: the one before.
    void stepRequested(int step);
    void closed();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void change();

    QLineEdit* m_text;
    QCheckBox* m_pattern;
    QLabel* m_status;
};

}  // namespace shardscope::desktop
