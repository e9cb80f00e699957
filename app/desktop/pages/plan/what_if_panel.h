// What if, on the Plan page: the link, a rank or what has a name so many times as fast, in the
// recorded steps, played again. Shows the answer of questions::addScenarios(), as `shardscope
// analyze FILE what-if --faster` prints it. GUI thread; played by the loader.
#pragma once

#include "app/desktop/loading/topic.h"
#include "profiler/questions/answer/answer.h"

#include <QString>
#include <QStringList>
#include <QWidget>
#include <memory>

class QComboBox;
class QDoubleSpinBox;
class QLabel;

namespace shardscope::desktop {

class DataTable;
class FoldSection;

/// What was played of a recording.
struct PlayedFaster {
    QStringList choices;  ///< what can be faster; of the first time
    questions::Answer answer;
    QString refusal;  ///< why what was asked for cannot be faster; empty: it can
};
using PlayedFasterPtr = std::shared_ptr<const PlayedFaster>;

/// "A step would take 88.8 ms (81.0 to 96.6 ms) instead of 98.4 ms: 9.74 % less.", or why that is
/// unknown. Pure.
[[nodiscard]] QString fasterHeadline(const PlayedFaster& played);
/// How far the model is off the recorded steps; empty: nothing was played. Pure.
[[nodiscard]] QString replayErrorText(const questions::Answer& answer);

class WhatIfPanel : public QWidget {
    Q_OBJECT

public:
    WhatIfPanel(RecordingLoader& loader, QWidget* parent);
    /// Scrolls to it and gives it the focus, as soon as there is something to choose.
    void reveal();
    [[nodiscard]] QComboBox* what() const { return m_what; }
    [[nodiscard]] QDoubleSpinBox* times() const { return m_times; }
    [[nodiscard]] QString headline() const;

protected:
    void showEvent(QShowEvent* event) override;
    /// What is not seen is not played on.
    void hideEvent(QHideEvent* event) override;

private:
    QWidget* buildControls();
    void restart();
    void play();
    void take(const PlayedFasterPtr& played);
    void fill(const QStringList& choices);
    void say(const QString& headline, const QString& error, const QString& unknown);

    RecordingLoader& m_loader;
    Topic m_topic;
    bool m_filling = false, m_wantsFocus = false;
    bool m_stale = true;  ///< what is shown is not of the open recording and these controls
    QComboBox* m_what = nullptr;
    QDoubleSpinBox* m_times = nullptr;
    QLabel *m_headline = nullptr, *m_error = nullptr, *m_unknown = nullptr;
    DataTable* m_table = nullptr;
    FoldSection* m_model = nullptr;
    QLabel* m_modelText = nullptr;
};

}  // namespace shardscope::desktop
