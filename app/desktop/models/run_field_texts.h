// What the New run page calls the fields of RunConfig, and what it says they do.
#pragma once

#include <QString>
#include <string_view>
#include <vector>

namespace shardscope::desktop {

struct RunFieldText {
    const char* key;  ///< of control::runFields()
    QString name;     ///< as sentences call it
    QString unit;     ///< empty: none
    QString note;     ///< below the field; empty: the page says something that depends, or nothing
    QString help;     ///< a sentence
    /// "Bucket, MB"
    [[nodiscard]] QString label() const;
};

/// Of every field that the form has.
[[nodiscard]] const std::vector<RunFieldText>& runFieldTexts();
/// Null: the form has no such field.
[[nodiscard]] const RunFieldText* findRunFieldText(std::string_view key);

/// A sentence of the command line in the words of the form: “Bucket” for --bucket-mb. Begins as
/// it did, which may be with a path.
[[nodiscard]] QString inFormWords(const QString& sentence);
/// Keys of the fields that a sentence of the command line names, in its order.
[[nodiscard]] std::vector<std::string_view> fieldsNamedIn(const QString& sentence);

}  // namespace shardscope::desktop
