# What every target of this project is compiled with. Warnings are errors, for gcc and clang alike.
add_compile_options(
    -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
    -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wcast-qual -Wno-missing-field-initializers
    -fno-strict-aliasing -fno-common -fstack-protector-strong)
if(CMAKE_BUILD_TYPE MATCHES "Rel")
    add_compile_definitions(_FORTIFY_SOURCE=2)
endif()
add_compile_definitions(_GNU_SOURCE _FILE_OFFSET_BITS=64
                        PLIMSOLL_VERSION="${PROJECT_VERSION}")
include_directories(${PROJECT_SOURCE_DIR})

if(PLIMSOLL_SANITIZE STREQUAL "address")
    add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=address,undefined)
elseif(PLIMSOLL_SANITIZE STREQUAL "thread")
    add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
    add_link_options(-fsanitize=thread)
elseif(NOT PLIMSOLL_SANITIZE STREQUAL "")
    message(FATAL_ERROR "PLIMSOLL_SANITIZE must be address, thread or empty")
endif()
