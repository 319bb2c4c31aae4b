"""A design's typed calls: the text of its headers in C and C++."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import wrap

from rbdgen.host.library.design import Function, Names, Vector
from rbdgen.host.manifest import Manifest
from rbdgen.protocol.identifiers import c_comment

WIDTH = 100
"""Characters of a line that may be wrapped."""


def c_header(manifest: Manifest, names: Names, answer: int) -> str:
    """The header of a design whose longest answer has so many bytes."""
    capitals = names.capitals
    tasks = [manifest.tasks.task.packet_bytes(n) for n in manifest.tasks.task_words.values()]
    lines = [
        f"/* Accelerator {names.prefix} of robot {c_comment(manifest.robot)}: its typed calls.",
        " *",
        " * A call takes `count` states. Arrays are row-major, one state after the other, with the",
        " * numbers that are given here of each; `flags` has one of each, or is NULL. It returns RBD_OK,",
        " * or a code of rbdgen_device.h; rbd_message(device) says what is wrong.",
        " */",
        f"#ifndef {capitals}_DEVICE_H",
        f"#define {capitals}_DEVICE_H",
        "",
        '#include "rbdgen_device.h"',
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"extern const rbd_design {names.tables};",
        "",
        "/* Bytes of workspace that rbd_open needs, and how many parameters can be loaded. */",
        f"#define {capitals}_WORKSPACE_BYTES "
        f"RBD_WORKSPACE_BYTES({max(tasks):d}, {answer:d}, {len(manifest.tasks.parameters):d})",
        f"#define {capitals}_PARAMETERS {len(manifest.tasks.parameters):d}",
        "",
        "/* Functions by their numbers, for rbd_request. */",
        "enum {",
    ]
    for number, function in enumerate(names.functions):
        lines.append(f"    {function.number} = {number:d},")
    lines += ["};", ""]
    for function in names.functions:
        lines += [f"/* {_summary(function)} */", f"{prototype(function)};", ""]
    return _text([*lines, "#ifdef __cplusplus", "}", "#endif", "", "#endif"])


def prototype(function: Function) -> str:
    """A typed call's declaration, without the semicolon."""
    given = [f"const double *{vector.argument}" for vector in function.operands]
    wanted = [f"double *{vector.argument}" for vector in function.results]
    arguments = ["rbd_device *device", "size_t count", *given, *wanted, "uint8_t *flags"]
    return _wrapped(f"int {function.call}({', '.join(arguments)})", "    ")


def definitions(names: Names) -> list[str]:
    """The lines of all typed calls."""
    lines = []
    for number, function in enumerate(names.functions):
        lines += [
            "",
            prototype(function),
            "{",
            f"    const double *const operands[] = {{{_arguments(function.operands)}}};",
            f"    double *const results[] = {{{_arguments(function.results)}}};",
            f"    return rbd_call(device, &{names.tables}, {number:d}, count, operands, results, flags);",
            "}",
        ]
    return lines


def cpp_header(names: Names) -> str:
    """The header of a design's class in C++."""
    guard = f"{names.capitals}_DEVICE_HPP"
    lines = [
        f"/* Accelerator {names.prefix} in C++17: its typed calls. Views say by their sizes how many states",
        " * there are; what fails is a rbdgen::Error. */",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        '#include "rbdgen_device.hpp"',
        "",
        f'#include "{names.prefix}_device.h"',
        "",
        f"namespace {names.prefix} {{",
        "",
        "class Device : public rbdgen::Device {",
        "public:",
        "    explicit Device(const rbd_transport &transport, const rbd_limits *limits = nullptr)",
        f"        : rbdgen::Device({names.tables}, transport, limits)",
        "    {",
        "    }",
        "",
        f"    explicit Device(const rbd_software &software) : rbdgen::Device({names.tables}, software) {{}}",
        "",
        "#ifdef RBDGEN_HAS_PORTS",
        "    static Device serial(const std::string &path, unsigned long baud = RBD_BAUD,",
        "                         const rbd_limits *limits = nullptr)",
        "    {",
        f"        return Device(rbdgen::Device::serial({names.tables}, path, baud, limits));",
        "    }",
        "",
        "    static Device tcp(const std::string &host, const std::string &service,",
        "                      const rbd_limits *limits = nullptr)",
        "    {",
        f"        return Device(rbdgen::Device::tcp({names.tables}, host, service, limits));",
        "    }",
        "",
        "    static Device udp(const std::string &host, const std::string &service = RBD_UDP_PORT,",
        "                      const rbd_limits *limits = nullptr)",
        "    {",
        f"        return Device(rbdgen::Device::udp({names.tables}, host, service, limits));",
        "    }",
        "#endif",
        "",
    ]
    for number, function in enumerate(names.functions):
        lines += _methods(names, number, function)
    lines += [
        "private:",
        "    explicit Device(rbdgen::Device &&device) : rbdgen::Device(std::move(device)) {}",
        "};",
        "",
        f"}} // namespace {names.prefix}",
        "",
        "#endif",
    ]
    return _text(lines)


def _methods(names: Names, number: int, function: Function) -> list[str]:
    """Two methods of the same name: into arrays that are given, and into new ones."""
    views = [f"rbdgen::View {vector.argument}" for vector in function.operands]
    numbers = [f"rbdgen::Numbers {vector.argument}" for vector in function.results]
    into = ", ".join([*views, *numbers, "rbdgen::Flags flags = {}"])
    result = function.method_results
    first = function.operands[0]
    given = _arguments(function.operands)
    lines = [
        f"    /* {_summary(function)} */",
        _wrapped(f"    void {function.method}({into})", " " * 12),
        "    {",
        f"        call({number:d}, {{{given}}}, {{{_arguments(function.results)}}}, flags);",
        "    }",
        "",
        f"    struct {result} {{",
    ]
    for vector in function.results:
        lines.append(f"        std::vector<double> {vector.argument};")
    lines += [
        "        std::vector<std::uint8_t> flags;",
        "    };",
        "",
        _wrapped(f"    {result} {function.method}({', '.join(views)})", " " * 12),
        "    {",
        f"        const std::size_t count = {first.argument}.size() / {first.size:d};",
        f"        {result} results;",
    ]
    for vector in function.results:
        lines.append(f"        results.{vector.argument}.resize(count * {vector.size:d});")
    made = [f"results.{vector.argument}" for vector in function.results]
    lines += [
        "        results.flags.resize(count);",
        f"        call({number:d}, {{{given}}}, {{{', '.join(made)}}}, results.flags);",
        "        return results;",
        "    }",
        "",
    ]
    return lines


def _summary(function: Function) -> str:
    """What a call does, for a comment."""
    given = ", ".join(vector.text for vector in function.operands)
    wanted = ", ".join(vector.text for vector in function.results)
    return f"{function.summary}: of {given} to {wanted}"


def _arguments(vectors: Iterable[Vector]) -> str:
    return ", ".join(vector.argument for vector in vectors)


def _wrapped(line: str, indent: str) -> str:
    """A line as several, where it is too long."""
    return "\n".join(wrap(line, WIDTH, subsequent_indent=indent, break_long_words=False))


def _text(lines: Iterable[str]) -> str:
    return "\n".join(lines) + "\n"
