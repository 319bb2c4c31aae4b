"""What build systems need of a C library: a CMake project with an installable package, and a pkg-config file."""

from __future__ import annotations

from collections.abc import Sequence

from rbdgen.software.flags import FLAGS


def cmake_project(name: str, sources: Sequence[str], version: str) -> str:
    """``CMakeLists.txt`` of a library called ``name``."""
    files = "\n".join(f"  {source}" for source in sources)
    flags = " ".join(flag for flag in FLAGS if not flag.startswith(("-std", "-march")))
    return f"""cmake_minimum_required(VERSION 3.16)
project({name} VERSION {version} LANGUAGES C)
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

option(RBD_NATIVE "Compile for this machine's processor" ON)
option(RBD_OPENMP "Compute many states on all cores" ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

add_library({name}
{files}
)
add_library({name}::{name} ALIAS {name})
target_compile_features({name} PUBLIC c_std_99)
target_include_directories({name} PUBLIC
  $<BUILD_INTERFACE:${{CMAKE_CURRENT_SOURCE_DIR}}/include>
  $<INSTALL_INTERFACE:${{CMAKE_INSTALL_INCLUDEDIR}}>
)
if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
  target_compile_options({name} PRIVATE {flags})
  if(RBD_NATIVE)
    target_compile_options({name} PRIVATE -march=native)
  endif()
endif()
if(UNIX)
  target_link_libraries({name} PUBLIC m)
endif()
set(RBD_PRIVATE_LIBS "-lm")
if(RBD_OPENMP)
  find_package(OpenMP COMPONENTS C)
  if(OpenMP_C_FOUND)
    target_link_libraries({name} PRIVATE OpenMP::OpenMP_C)
    string(APPEND RBD_PRIVATE_LIBS " ${{OpenMP_C_FLAGS}}")
  endif()
endif()

install(TARGETS {name} EXPORT {name})
install(FILES include/{name}.h DESTINATION ${{CMAKE_INSTALL_INCLUDEDIR}})
install(EXPORT {name} FILE {name}-targets.cmake NAMESPACE {name}::
  DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{name})
configure_package_config_file(cmake/config.cmake.in {name}-config.cmake
  INSTALL_DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{name})
write_basic_package_version_file({name}-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${{CMAKE_CURRENT_BINARY_DIR}}/{name}-config.cmake
  ${{CMAKE_CURRENT_BINARY_DIR}}/{name}-config-version.cmake
  DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/cmake/{name})
configure_file(cmake/pkgconfig.in {name}.pc @ONLY)
install(FILES ${{CMAKE_CURRENT_BINARY_DIR}}/{name}.pc DESTINATION ${{CMAKE_INSTALL_LIBDIR}}/pkgconfig)
"""


def cmake_config(name: str) -> str:
    """The template of the CMake package's configuration. A static library needs OpenMP again where it has it."""
    return f"""@PACKAGE_INIT@
include(CMakeFindDependencyMacro)
if("@OpenMP_C_FOUND@")
  include(CheckLanguage)
  enable_language(C)
  find_dependency(OpenMP COMPONENTS C)
endif()
include("${{CMAKE_CURRENT_LIST_DIR}}/{name}-targets.cmake")
check_required_components({name})
"""


def pkgconfig(name: str, summary: str) -> str:
    """The template of the pkg-config file."""
    return f"""prefix=@CMAKE_INSTALL_PREFIX@
libdir=${{prefix}}/@CMAKE_INSTALL_LIBDIR@
includedir=${{prefix}}/@CMAKE_INSTALL_INCLUDEDIR@

Name: {name}
Description: {summary}
Version: @PROJECT_VERSION@
Libs: -L${{libdir}} -l{name} @RBD_PRIVATE_LIBS@
Cflags: -I${{includedir}}
"""


def build_files(name: str, sources: Sequence[str], summary: str, version: str) -> dict[str, str]:
    """All of them, by name. ``sources`` are relative to their folder."""
    return {
        "CMakeLists.txt": cmake_project(name, sources, version),
        "cmake/config.cmake.in": cmake_config(name),
        "cmake/pkgconfig.in": pkgconfig(name, summary),
    }
