# Warnings and sanitizers as interface targets; neither reaches a consumer.
add_library(tandem_warnings INTERFACE)
target_compile_options(tandem_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
                       -Wnon-virtual-dtor -Wold-style-cast -Woverloaded-virtual)
if(TANDEM_WERROR)
  target_compile_options(tandem_warnings INTERFACE -Werror)
endif()

add_library(tandem_sanitizers INTERFACE)
if(TANDEM_SANITIZE)
  target_compile_options(tandem_sanitizers INTERFACE -fsanitize=${TANDEM_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  target_link_options(tandem_sanitizers INTERFACE -fsanitize=${TANDEM_SANITIZE})
endif()
