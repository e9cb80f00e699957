// The fields of the New run form: one for each option that has a name; new_run_page.cpp is what
// they do.
#include "app/desktop/models/format.h"
#include "app/desktop/pages/newrun/hosts_panel.h"
#include "app/desktop/pages/newrun/new_run_page.h"
#include "app/desktop/pages/newrun/program_tab.h"
#include "app/desktop/pages/run_fields/bound_field.h"
#include "app/desktop/pages/run_fields/fold_section.h"
#include "app/desktop/pages/run_fields/run_option_texts.h"
#include "app/desktop/widgets/theme.h"

#include <QComboBox>
#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace shardscope::desktop {
namespace {

using namespace Qt::StringLiterals;
using run::OptionText;

/// Paths and lists of hosts take the width of the form; a long name takes two places.
int spanOf(const run::RunOption& option) {
    constexpr qsizetype kLongName = 26;
    const bool isPath = option.text != OptionText::kPlain && option.text != OptionText::kEscaped;
    if (isPath || option.key == std::string_view("hosts")) return FoldSection::kColumns;
    return labelOf(option).size() > kLongName ? 2 : 1;
}

/// What one changes first, whatever a run is for: above the sections of the others.
constexpr std::array<std::string_view, 6> kFirst{"model.name", "strategy", "ranks",
                                                 "steps",      "batch",    "learning_rate"};

bool isFirst(const run::RunOption& option) {
    return std::find(kFirst.begin(), kFirst.end(), option.key) != kFirst.end();
}

}  // namespace

FoldSection* NewRunPage::addSection(QWidget* form, const QString& title, bool open) {
    auto* section = new FoldSection(title, open, form);
    form->layout()->addWidget(section);
    m_sections.push_back(section);
    return section;
}

void NewRunPage::addSection(QWidget* form, const run::OptionSectionWords& words) {
    FoldSection* section = addSection(form, optionText(words.word), words.common);
    for (const run::RunOption& option : run::runOptions())
        if (option.section == words.value && *option.name != '\0' && !isFirst(option))
            addField(section, option);
    if (words.value == run::findRunOption("output")->section) addName(section);
    if (words.value != run::OptionSection::kHosts) return;
    m_hosts = new HostsPanel(field("hosts"), field("ssh_command"), section);
    section->add(m_hosts, FoldSection::kColumns);
}

void NewRunPage::addName(FoldSection* section) {
    m_nameLine = new QLineEdit(section);
    m_name = new NamedInput("name", tr("Name"),
                            tr("What you call the run, shown before its settings; no file name. "
                               "May be empty."),
                            m_nameLine, section);
    connect(m_nameLine, &QLineEdit::textChanged, this, &NewRunPage::refresh);
    section->add(m_name, FoldSection::kColumns);
}

QString NewRunPage::runName() const {
    return m_nameLine->text().trimmed();
}

void NewRunPage::addField(FoldSection* section, const run::RunOption& option) {
    auto* field = new BoundField(option, section);
    connect(field, &BoundField::changed, this, &NewRunPage::refresh);
    section->addField(field, spanOf(option));
    m_fields.push_back(field);
    if (option.text == OptionText::kFile || option.text == OptionText::kFileOrFolder)
        addChooser(field, false);
    if (option.text == OptionText::kFolder || option.text == OptionText::kFileOrFolder)
        addChooser(field, true);
}

void NewRunPage::addChooser(BoundField* path, bool folder) {
    const QString title =
        (folder ? tr("Choose a folder: %1") : tr("Choose a file: %1")).arg(nameOf(path->option()));
    path->addButton(folder ? tr("Folder…") : tr("File…"), title, [this, path, folder, title] {
        auto* dialog = new QFileDialog(this, title);
        dialog->setAttribute(Qt::WA_DeleteOnClose);
        dialog->setFileMode(folder ? QFileDialog::Directory : QFileDialog::ExistingFile);
        connect(dialog, &QFileDialog::fileSelected, qobject_cast<QLineEdit*>(path->input()),
                &QLineEdit::setText);
        dialog->open();
    });
}

/// What some fields do beside holding a value.
void NewRunPage::connectFields() {
    connect(qobject_cast<QComboBox*>(field("model.name")->input()), &QComboBox::activated, this,
            &NewRunPage::choosePreset);
    connect(qobject_cast<QComboBox*>(field("strategy")->input()), &QComboBox::activated, this,
            &NewRunPage::chooseStrategy);
    m_takeSettings = field("resume")->addButton(tr("Take its settings"),
                                                tr("Fill the form with the checkpoint's settings"),
                                                [this] { takeCheckpoint(); });
    connect(qobject_cast<QLineEdit*>(field("output")->input()), &QLineEdit::textEdited, this,
            [this] {
                m_outputEdited = true;
                refresh();
            });
}

QWidget* NewRunPage::buildForm(QWidget* parent) {
    auto* form = new QWidget(parent);
    auto* layout = new QVBoxLayout(form);
    layout->setContentsMargins(0, 0, kGap, 0);
    layout->setSpacing(kGap);
    m_found = new FoldSection(tr("Found"), true, form);
    m_found->hide();
    layout->addWidget(m_found);
    FoldSection* first = addSection(form, tr("Basics"), true);
    for (const std::string_view key : kFirst) addField(first, *run::findRunOption(key));
    for (const run::OptionSectionWords& words : kWords<run::OptionSection>) addSection(form, words);
    connectFields();
    layout->addStretch();
    return form;
}

void NewRunPage::find(const QString& text) {
    const QString wanted = text.trimmed();
    const bool looks = !wanted.isEmpty();
    for (FoldSection* section : m_sections) section->takeBack();
    m_found->forget();
    std::vector<std::pair<OptionMatch, BoundField*>> found;
    for (BoundField* each : m_fields)
        if (const auto match = matchOf(each->option(), wanted); looks && match)
            found.emplace_back(*match, each);
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [match, field] : found) {
        m_found->addField(field, spanOf(field->option()));
        field->show();
    }
    m_found->setOpen(true);
    m_found->setVisible(!found.empty());
    for (FoldSection* section : m_sections) section->setVisible(!looks);
    const bool none = looks && found.empty();
    m_notFound->setText(none ? tr("No setting is about “%1”.").arg(wanted) : QString());
}

}  // namespace shardscope::desktop
