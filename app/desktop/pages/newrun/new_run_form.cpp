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
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>
#include <string_view>

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

}  // namespace

void NewRunPage::addSection(QWidget* form, const run::OptionSectionWords& words) {
    auto* section = new FoldSection(optionText(words.word), words.common, form);
    form->layout()->addWidget(section);
    m_sections.push_back(section);
    for (const run::RunOption& option : run::runOptions())
        if (option.section == words.value && *option.name != '\0') addField(section, option);
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
    for (const run::OptionSectionWords& words : kWords<run::OptionSection>) addSection(form, words);
    connectFields();
    layout->addStretch();
    return form;
}

}  // namespace shardscope::desktop
