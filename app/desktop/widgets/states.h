// What a page shows when it is not full: an empty state in words, an error in words, the
// skeleton of its layout while loading, and a banner for what is missing. GUI thread.
#pragma once

#include <QRectF>
#include <QWidget>
#include <vector>

class QLabel;
class QPushButton;
class QVBoxLayout;

namespace shardscope::desktop {

/// Icon, title, a sentence on how to get something here, and up to two actions.
class MessageState : public QWidget {
    Q_OBJECT

public:
    MessageState(const QString& icon, const QString& title, const QString& text,
                 QWidget* parent = nullptr);
    void setText(const QString& title, const QString& text);
    QPushButton* addAction(const QString& text, bool primary);

protected:
    void changeEvent(QEvent* event) override;

private:
    void retint();

    QString m_icon;
    QLabel* m_picture;
    QLabel* m_title;
    QLabel* m_text;
    QVBoxLayout* m_actions;
};

/// Grey blocks where the content will be. `blocks` in shares of the widget.
class Skeleton : public QWidget {
    Q_OBJECT

public:
    explicit Skeleton(std::vector<QRectF> blocks, QWidget* parent = nullptr);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    std::vector<QRectF> m_blocks;
};

/// One line above a page: what is missing or wrong.
class Banner : public QWidget {
    Q_OBJECT

public:
    explicit Banner(QWidget* parent = nullptr);
    /// Hidden when empty.
    void setText(const QString& text);
    [[nodiscard]] QString text() const;

protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void retint();

    QLabel* m_icon;
    QLabel* m_label;
};

}  // namespace shardscope::desktop
