# Turns migrations/NNNN_*.sql and queries/*.sql into C in the build folder:
#   queries.h    enum query { QUERY_JOB_ADD, ..., QUERIES }
#   embedded.c   const struct embedded queries[], migrations[]: name and text
# Included by CMakeLists.txt it adds the rule; run as `cmake -P` it writes the files.

if(NOT CMAKE_SCRIPT_MODE_FILE)
    set(EMBED_DIR ${CMAKE_CURRENT_BINARY_DIR}/embedded)
    file(GLOB EMBED_SQL CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/migrations/*.sql
         ${CMAKE_CURRENT_SOURCE_DIR}/queries/*.sql)
    add_custom_command(
        OUTPUT ${EMBED_DIR}/queries.h ${EMBED_DIR}/embedded.c
        COMMAND ${CMAKE_COMMAND} -DFROM=${CMAKE_CURRENT_SOURCE_DIR} -DTO=${EMBED_DIR}
                -P ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
        DEPENDS ${EMBED_SQL} ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
        COMMENT "Embedding SQL")
    set(EMBEDDED_SOURCES ${EMBED_DIR}/embedded.c ${EMBED_DIR}/queries.h)
    return()
endif()

# The file's text as a C string literal, one source line a line.
function(c_string path ret)
    file(READ ${path} text)
    string(REPLACE "\\" "\\\\" text "${text}")
    string(REPLACE "\"" "\\\"" text "${text}")
    string(REPLACE "\n" "\\n\"\n     \"" text "${text}")
    set(${ret} "\"${text}\"" PARENT_SCOPE)
endfunction()

function(embed_folder folder ret_array ret_names)
    file(GLOB paths ${FROM}/${folder}/*.sql)
    list(SORT paths)
    set(names "")
    set(array "const struct embedded ${folder}[] = {\n")
    foreach(path ${paths})
        get_filename_component(name ${path} NAME_WE)
        c_string(${path} text)
        string(APPEND array "    {\"${name}\",\n     ${text}},\n")
        list(APPEND names ${name})
    endforeach()
    string(APPEND array "    {NULL, NULL},\n};\n")
    set(${ret_array} "${array}" PARENT_SCOPE)
    set(${ret_names} "${names}" PARENT_SCOPE)
endfunction()

embed_folder(queries QUERIES_C QUERY_NAMES)
embed_folder(migrations MIGRATIONS_C MIGRATION_NAMES)

# Numbered without a gap from 1: the number of a migration is its place.
set(expected 0)
foreach(name ${MIGRATION_NAMES})
    math(EXPR expected "${expected} + 1")
    string(REGEX MATCH "^[0-9][0-9][0-9][0-9]_" number "${name}")
    string(REGEX REPLACE "^0*([0-9]+)_$" "\\1" number "${number}")
    if(NOT number EQUAL expected)
        message(FATAL_ERROR "migrations/${name}.sql should have number ${expected}")
    endif()
endforeach()

set(header "#pragma once\n\nenum query {\n")
foreach(name ${QUERY_NAMES})
    string(TOUPPER ${name} upper)
    string(APPEND header "    QUERY_${upper},\n")
endforeach()
string(APPEND header "    QUERIES,\n};\n\nstruct embedded {\n    const char *name, *text;\n};\n"
       "extern const struct embedded queries[]; /* by enum query; then NULL */\n"
       "extern const struct embedded migrations[]; /* in order; then NULL */\n"
       "enum { MIGRATIONS = ${expected} };\n")
file(WRITE ${TO}/queries.h "${header}")
file(WRITE ${TO}/embedded.c
     "#include \"queries.h\"\n\n#include <stddef.h>\n\n${QUERIES_C}\n${MIGRATIONS_C}")
