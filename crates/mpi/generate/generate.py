#!/usr/bin/env python3
"""Write the Rust files that name the standard ABI: constants, exported functions, and the table of those that exist. Also
write the header of C programs, `crates/standard/src/mpi.h`.

Usage: generate.py HEADER, with PyPI's `pympistandard` importable and HEADER the `mpi_abi.h` of PyPI's `mpich`
(`pip install mpich pympistandard`). Run it again after a function is added to `src/face`. `MPI_X`, `PMPI_X` and, where
the standard has it, `MPI_X_c` call the function `x` there. A name without one returns `MPI_ERR_UNSUPPORTED_OPERATION`.
"""

import re
import sys
from pathlib import Path

import pympistandard

HERE = Path(__file__).resolve().parent.parent
COLLECTIVES = (
    "Allgather Allgatherv Allreduce Alltoall Alltoallv Alltoallw Barrier Bcast Exscan Gather Gatherv "
    "Neighbor_allgather Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw "
    "Reduce Reduce_scatter Reduce_scatter_block Scan Scatter Scatterv"
).split()
MODES = {"": "Standard", "B": "Buffered", "S": "Synchronous", "R": "Ready"}
NOTE = "// Written by crates/mpi/generate/generate.py from pympistandard and mpi_abi.h of PyPI's mpich. Not for editing.\n"
WORDS = {"type", "match", "in", "ref", "use", "fn", "mod", "box", "final", "loop", "move", "where"}
# Reads and writes of files: how they find their place, and whether all ranks take part.
MOVES = r"File_(i?)(read|write)(_at|_shared|_ordered)?(_all)?"
HANDLES = "Comm Group Win File Session Message Info Errhandler Request Op Datatype".split()
TOOLS = "enum cvar_handle pvar_handle pvar_session event_registration event_instance".split()
SCALARS = {
    "int": "c_int",
    "const int": "c_int",
    "double": "f64",
    "MPI_Count": "i64",
    "MPI_Aint": "i64",
    "MPI_Offset": "i64",
    "MPI_T_cb_safety": "c_int",
    "MPI_T_source_order": "c_int",
    "MPI_Status": "Status",
    "char": "c_char",
    **{f"MPI_{name}": "Handle" for name in HANDLES},
    **{f"MPI_T_{name}": "Handle" for name in TOOLS},
}
CHAPTERS = [
    (r"Abi_|Init|Finalize|Abort|Error_|Add_error|Remove_error|.*[Ee]rrhandler|Wti|Get_version|Get_lib|Get_proc"
     r"|Alloc_mem|Free_mem|Get_hw|Is_thread|Query_thread|Pcontrol|.*_(to|from)int$|Status_[cf]2", "environment"),
    (r"T_", "tools"),
    (r"Session_|Group_from_session|Comm_create_from_group|Intercomm_create_from", "sessions"),
    (r"File_|Register_datarep", "files"),
    (r"P(send|recv|ready|arrived)", "partitioned"),
    (r"Win_|Put|Get$|Get_c$|Rput|Rget|R?[Aa]ccumulate|Get_acc|Raccum|Fetch_and|Compare_and|Rget_acc", "one-sided"),
    (r"Comm_(spawn|accept|connect|disconnect|join|get_parent)|Open_port|Close_port|.*_name$(?<=sh_name|up_name)",
     "processes"),
    (r"Info_", "info"),
    (r"Cart|Graph|Dist_graph|Dims|Topo|I?[Nn]eighbor", "topologies"),
    (r".*(attr|keyval)|Attr_|Keyval", "attributes"),
    (r"Type_|Pack|Unpack|Get_address|Get_elements|Aint_|Status_set_elements", "datatypes"),
    (r"Group_|Comm_|Intercomm_", "communicators"),
    (r"Grequest|Status_set_cancelled", "requests"),
    (r"Op_|Reduce_local|I?(" + "|".join(name.lower() for name in COLLECTIVES) + ")", "collectives"),
    (r"", "point-to-point"),
]


def chapter(name):
    short = re.sub(r"^MPIX?_", "", name)
    flags = re.IGNORECASE if re.match(r"I?(All|Bar|Bc|Ex|Ga|Re|Sc)", short) and "quest" not in short else 0
    for pattern, title in CHAPTERS:
        if re.match(pattern, short, flags):
            return title
    raise SystemExit(f"{name}: no chapter")


def header(path):
    """The prototypes of a header: name to (returned type, [(type, name)])."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    found = {}
    for returned, name, arguments in re.findall(r"^(\w+) (MPIX?_\w+)\(([^;]*)\);", text, re.M):
        parameters = []
        for argument in arguments.split(","):
            argument = argument.strip()
            if argument in ("void", "..."):
                continue
            parts = re.match(r"(.*?)(\w+)\s*((?:\[\d*\])*)$", argument)
            kind = re.sub(r"\s+", " ", (parts[1].strip() + " " + parts[3]).strip())
            parameters.append((kind, parts[2]))
        found[name] = (returned, parameters)
    return text, found


def constants(text):
    """Values of enumerators and of defines that are numbers, addresses or handles."""
    found = {}
    body = re.sub(r"(?m)^typedef[^{]*;", "", text)
    for inside in re.findall(r"enum\s*\w*\s*\{(.*?)\}", body, re.S):
        for name, value in re.findall(r"(MPIX?_\w+)\s*=\s*(-?(?:0x)?[0-9A-Fa-f]+)", inside):
            found[name] = ("c_int", int(value, 0))
    for name, value in re.findall(r"(?m)^#define\s+(MPIX?_\w+)\s+(.+?)\s*$", text):
        parts = re.match(r"^(?:\(\((.*?)\)\s*)?(-?(?:0x)?[0-9A-Fa-f]+)\)?$", value)
        if parts and parts[1] is None:
            found[name] = ("c_int", int(parts[2], 0))
        elif parts and parts[1] == "MPI_Offset":
            found[name] = ("i64", int(parts[2], 0))
        elif parts:
            found[name] = ("usize", int(parts[2], 0))
    return found


def declared(text):
    """The header's types, then its constants, each as C declares it: enumerators, numbers, handles, addresses, functions."""
    handles = re.findall(r"(?m)^typedef struct (\w+) ?\* ?(\w+);", text)
    # The struct's name is part of a C++ function's name: it is the ABI's.
    lines = [f"typedef struct {tag} *{name};" for tag, name in handles]
    for inside, name in re.findall(r"typedef enum\s+\w+\s*\{(.*?)\}\s*(\w+);", text, re.S):
        values = ", ".join(f"{one} = {value}" for one, value in re.findall(r"(\w+)\s*=\s*(\w+)", inside))
        lines.append(f"typedef enum {name} {{ {values} }} {name};")
    # Of functions, and other names of these. One lacks its semicolon in some versions of the header.
    for returned, name, arguments in re.findall(r"(?m)^typedef (int|void) \((\w+)\) ?\( ?(.*)\);?\s*$", text):
        lines.append(f"typedef {returned} ({name})({arguments});")
    lines += [f"typedef {old} {new};" for old, new in re.findall(r"(?m)^typedef (MPI_(?!ABI)\w+) (\w+);$", text)]
    lines.append("")
    for inside in re.findall(r"(?m)^enum\s*\{(.*?)\}", text, re.S):
        values = re.findall(r"(MPIX?_\w+)\s*=\s*(-?\w+)", inside)
        lines.append("enum {\n    " + ",\n    ".join(f"{name} = {value}" for name, value in values) + "\n};")
    for name, value in re.findall(r"(?m)^#define[ \t]+(MPIX?_\w+)[ \t]+(\S.*?)\s*$", text):
        if not name.startswith("MPI_ABI_") or value.isdigit():
            lines.append(f"#define {name} {value}")
    return lines


def prototype(name, returned, parameters):
    """A function as C declares it."""
    def one(kind, argument):
        base, brackets = re.match(r"(.*?)\s*((?:\[\d*\])*)$", kind).groups()
        return f"{base}{'' if base.endswith('*') else ' '}{argument}{brackets}"
    arguments = [one(*parameter) for parameter in parameters]
    if name.endswith("MPI_Pcontrol"):
        arguments.append("...")
    return f"{returned} {name}({', '.join(arguments) or 'void'});"


def write_header(text, functions):
    """The header of C and C++ programs."""
    lines = ["/* MPI 5.0, its standard ABI: the header of C and C++ programs for hotlink's libmpi_abi.so.1.",
             " * Written by crates/mpi/generate/generate.py. Not for editing. */", "#ifndef MPI_H_OF_HOTLINK",
             "#define MPI_H_OF_HOTLINK", "", "#include <stdint.h>", "", "#ifdef __cplusplus", 'extern "C" {', "#endif", "",
             "typedef intptr_t MPI_Aint;", "typedef int64_t MPI_Offset;", "typedef int64_t MPI_Count;",
             "typedef struct {", "    int MPI_SOURCE;", "    int MPI_TAG;", "    int MPI_ERROR;", "    int MPI_internal[5];",
             "} MPI_Status;", *declared(text), ""]
    for prefix in ("", "P"):
        lines += [prototype(prefix + name, *about) for name, about in functions.items()]
    lines += ["", "#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    (HERE.parent / "standard/src/mpi.h").write_text("\n".join(lines))


def native(kind):
    """The Rust type of a C parameter at the ABI."""
    plain = kind.replace("const ", "")
    if kind in SCALARS:
        return SCALARS[kind]
    base = re.match(r"^(\w+) ?(\*|\[\]|\[\]\[3\])$", plain)
    if base and base[1] in SCALARS:
        return f"*{'const' if kind.startswith('const') else 'mut'} {SCALARS[base[1]]}"
    if plain in ("void *",):
        return f"*{'const' if kind.startswith('const') else 'mut'} c_void"
    # Functions, and vectors of strings.
    return "usize"


def wrapped(kind, name, other):
    """How an argument goes to the face; `other` is its type in the function of the other width."""
    rust = native(kind)
    integers = {"c_int": "narrow", "i64": "wide"}
    plain = name.removeprefix("r#")
    if rust == "usize" or rust in SCALARS.values():
        return f"i64::from({name})" if {kind, other} & {"MPI_Count", "MPI_Aint"} and rust == "c_int" else name
    if rust.endswith("c_void"):
        return f"Address::of({name})"
    target = rust.split()[-1]
    if target == "c_char":
        return f"Text::at({name})" if "const" in rust else f"TextOut::at({name})"
    if other is not None and target in integers:
        if "const" in rust:
            return f'Ints::{integers[target]}("{plain}", {name})'
        if other != kind:
            return f"OutInt::{integers[target]}({name})"
    return f'In::at("{plain}", {name})' if "const" in rust else f"Out::at({name})"


def family(name):
    """The face's function for a name of a family, with what goes before its arguments."""
    short = re.sub(r"^MPIX?_", "", name)
    plain = short[:-2] if short.endswith("_c") else short
    for base in COLLECTIVES:
        if plain == base:
            return base.lower(), "Start::Blocking(Out::nowhere())", ()
        if plain == "I" + base.lower():
            return base.lower(), "Start::Now(Out::at(request))", ("request",)
        if plain == base + "_init":
            return base.lower(), "Start::Again(Out::at(request))", ("request", "info")
    for letter, mode in MODES.items():
        base = letter + "send" if letter else "Send"
        start = {
            base: "Start::Blocking(Out::nowhere())",
            "I" + base.lower(): "Start::Now(Out::at(request))",
            base + "_init": "Start::Again(Out::at(request))",
        }
        if plain in start:
            return "send", f"Mode::{mode}, {start[plain]}", ("request",)
    for base in ("Put", "Get", "Accumulate", "Get_accumulate"):
        if plain == base:
            return base.lower(), "Start::Blocking(Out::nowhere())", ()
        if plain == "R" + base.lower():
            return base.lower(), "Start::Now(Out::at(request))", ("request",)
    for base in ("Recv", "Mrecv", "Sendrecv", "Sendrecv_replace"):
        if plain == base:
            return base.lower(), "Start::Blocking(Out::at(status))", ("status",)
        if plain == "I" + base.lower():
            return base.lower(), "Start::Now(Out::at(request))", ("request",)
        if plain == base + "_init":
            return base.lower(), "Start::Again(Out::at(request))", ("request",)
    move = re.fullmatch(MOVES, plain)
    if move:
        start = "Now(Out::at(request))" if move[1] else "Blocking(Out::at(status))"
        return f"file_{move[2]}{move[3] or ''}{move[4] or ''}", f"Start::{start}", ("request" if move[1] else "status",)
    return plain.lower(), None, ()


def main():
    text, functions = header(Path(sys.argv[1]))
    pympistandard.use_api_version()
    lowered = {name.lower() for name in functions}
    standard = {str(procedure.name).lower() for procedure in pympistandard.all_iso_c_procedures()}
    missing = sorted(name for name in standard if name not in lowered)
    print(f"{len(functions)} names in the header; of the standard's, not there: {missing}", file=sys.stderr)

    there = {}
    for path in sorted((HERE / "src/face").glob("*.rs")):
        for name in re.findall(r"^pub\(crate\) fn (\w+)\(\s*\n?\s*_?p: &Process", path.read_text(), re.M):
            there[name] = path.stem

    rows, table = [], []
    for name, (returned, parameters) in functions.items():
        wide = name.endswith("_c") and name[:-2] in functions
        sibling = functions.get(name[:-2] if wide else name + "_c")
        # Functions whose two widths have other parameters are each their own.
        alike = sibling is not None and [p[1] for p in sibling[1]] == [p[1] for p in parameters] and not any(
            "function" in kind for kind, _ in parameters)
        face, start, apart = family(name)
        if wide and not alike:
            face += "_c"
        arguments, passed = [], []
        for index, (kind, argument) in enumerate(parameters):
            rust = f"r#{argument}" if argument in WORDS else argument
            arguments.append(f"{rust}: {native(kind)}")
            if argument not in apart or (start and argument in ("info",) and "_init" not in name):
                other = sibling[1][index][0] if alike else None
                passed.append(wrapped(kind, rust, other))
        of = next((f"Of::{kind[4:]}({'r#' if a in WORDS else ''}{a})" for kind, a in parameters
                   if kind in ("MPI_Comm", "MPI_Win", "MPI_Session")), None) or next(
            (f"Of::{kind[4:-2]}(if {a}.is_null() {{ 0 }} else {{ *{a} }})" for kind, a in parameters
             if kind in ("MPI_Comm *", "MPI_Win *", "MPI_Session *")
             and re.search(r"_(free|disconnect|finalize)$", name)), "Of::Nothing")
        if re.match(r"MPI_File_(?!.*(to|from)int$)|MPI_Register_datarep", name):
            file = next((argument for kind, argument in parameters if kind == "MPI_File"), None)
            of = f"Of::File({file or '0'})"
            if name == "MPI_File_close":
                of = "Of::File(if fh.is_null() { 0 } else { *fh })"
        if re.search(r"_toint$", name):
            there[face], body = "names", f"{parameters[0][1]} as c_int"
        elif re.search(r"_fromint$", name):
            there[face], body = "names", f"{parameters[0][1]} as Handle"
        elif name in ("MPI_Wtime", "MPI_Wtick", "MPI_Aint_add", "MPI_Aint_diff"):
            there[face], body = "names", f"crate::face::environment::{face}({', '.join(passed)})"
        elif face in there:
            lead = f"process, {start}, " if start else "process, "
            # The call's results must have a place. The tools interface allows missing places for many, and other calls
            # have statuses.
            due = [] if name.startswith("MPI_T_") else [
                argument for kind, argument in parameters
                if kind == "const MPI_Status *"
                or re.fullmatch(r"(\w+) \*", kind) and kind[:-2] in SCALARS and kind[:-2] not in ("char", "MPI_Status")
                and argument != "argc"]
            places = ", ".join(f'("{place}", {place} as usize)' for place in due)
            before = f"placed(&[{places}])?; " if due else ""
            called = f"crate::face::{there[face]}::{face}({lead}{', '.join(passed)})"
            entered = f'tools("{name}"' if name.startswith("MPI_T_") else f'call("{name}", {of}'
            body = f'{entered}, |process| {"{ " + before + called + " }" if due else called})'
        else:
            body = f'refuse("{name}", {of})'
        used = body
        arguments = [a if re.search(rf"\b{re.escape(a.split(':')[0].removeprefix('r#'))}\b", used) else
                     "_" + a.removeprefix("r#") for a in arguments]
        result = {"int": "c_int"}.get(returned, SCALARS.get(returned, returned))
        profiled = name.replace("MPI", "PMPI", 1)
        rows.append(f"    {name} {profiled} ({', '.join(arguments)}) -> {result} = {body};")
        table.append((name, chapter(name), face in there))

    lines = [NOTE, "//! Every function of the standard ABI, under both of its names.\n", "use super::prelude::*;\n",
             "export! {", *rows, "}", ""]
    (HERE / "src/generated/names.rs").write_text("\n".join(lines))

    values = [NOTE, "//! The constants of the standard ABI: names and values are those of its header.\n", "use std::ffi::c_int;\n"]
    values += [f"pub const {name}: {kind} = {value};" for name, (kind, value) in constants(text).items()]
    (HERE.parent / "standard/src/constants.rs").write_text("\n".join(values) + "\n")

    write_header(text, functions)
    titles = []
    for _, title, _ in table:
        if title not in titles:
            titles.append(title)
    rows = [NOTE, "//! The functions of MPI's standard ABI by chapter, and whether `libmpi_abi.so.1` has them.\n",
            "/// A function of the standard: its name, its chapter, and whether it does what the standard says.",
            "pub type Name = (&'static str, &'static str, bool);\n",
            "/// All of them, in the order of their names.",
            "pub fn names() -> impl Iterator<Item = Name> {",
            "    TABLE.lines().filter_map(|line| {",
            "        let (name, rest) = line.split_once(',')?;",
            "        let (chapter, is_there) = rest.split_once(',')?;",
            '        Some((name, chapter, is_there == "1"))',
            "    })", "}\n",
            "// One text: a table of texts would be relocated, so that each process had its own.",
            'const TABLE: &str = "\\']
    rows += [f"{name},{title},{int(is_there)}" for name, title, is_there in table]
    (HERE.parent / "standard/src/names.rs").write_text("\n".join(rows) + '\n";\n')
    count = sum(row[2] for row in table)
    print(f"{count} of {len(table)} are there", file=sys.stderr)


main()
