# Writes migrations.cpp: every numbered .sql file as a string. Run with cmake -P;
# OUTPUT: the file to write, INPUTS: the .sql files, in order, separated by '|'.
string(REPLACE "|" ";" inputs "${INPUTS}")
set(entries "")
foreach(input IN LISTS inputs)
    file(READ "${input}" sql)
    get_filename_component(name "${input}" NAME)
    string(REGEX MATCH "^[0-9]+" number "${name}")
    math(EXPR number "${number}")
    string(APPEND entries "    {${number}, R\"sql(${sql})sql\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "#include \"storage/schema/migrations.h\"

namespace shardscope::storage {

const std::vector<Migration>& migrations() {
    static const std::vector<Migration> all = {
${entries}    };
    return all;
}

}  // namespace shardscope::storage
")
