// One figure: title, value with unit, detail, trend, verdict and a `?` that defines it.
// Painted as one piece so that figures line up. GUI thread.
#pragma once

#include <QPointF>
#include <QVector>
#include <QWidget>
#include <optional>

class QPainter;
class QToolButton;

namespace shardscope::desktop {

class Card : public QWidget {
    Q_OBJECT

public:
    explicit Card(QWidget* parent = nullptr);

    /// `brief`: where the title does not fit; empty: it is elided.
    void setTitle(const QString& title, const QString& brief = {});
    void setValue(const QString& number, const QString& unit, const QString& qualifier = {});
    void setDetail(const QString& detail);
    void setDefinition(const QString& definition);
    void setTrend(const QVector<QPointF>& points);
    /// `good`: nullopt where it is neither good nor bad.
    void setVerdict(const QString& text, std::optional<bool> good);

    [[nodiscard]] QSize sizeHint() const override { return {192, 116}; }
    [[nodiscard]] QSize minimumSizeHint() const override { return {144, 116}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void describe();
    bool paintValue(QPainter& painter, double inner) const;
    void paintDetail(QPainter& painter, double inner, QString before) const;
    void retint();

    QToolButton* m_help;
    QString m_title, m_brief, m_number, m_unit, m_qualifier, m_detail, m_definition, m_verdict;
    QVector<QPointF> m_trend;
    std::optional<bool> m_good = true;
};

}  // namespace shardscope::desktop
