"""Starts one interpreter, imports what a script imports at its top, and forks the ranks, which run the script.

`hotlink run` gives this to `python -c`. The arguments are the number of ranks, the pipe's number, how many options of Python
the command of a rank has, and that command. Lines on the pipe are `ready`, `started RANK PID` and `ended RANK STATUS`. With
`no REASON`, no rank was started.
"""

import os
import sys


def _absolute(script):
    """The path that the interpreter gives its script."""
    return os.path.join(os.getcwd(), script)


def _names(tree):
    """Modules that are imported at the top, in order; inside `try` as well."""
    import ast

    for node in tree.body:
        if isinstance(node, ast.Try):
            yield from _names(node)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module != "__future__":
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _is_installed(name):
    """Whether a module is Python's own or an installed package's: the program's own may do anything when imported."""
    import importlib.util
    import sysconfig

    top = name.partition(".")[0]
    if top in sys.stdlib_module_names:
        return True
    spec = importlib.util.find_spec(top)
    folders = [sysconfig.get_path(kind) + os.sep for kind in ("purelib", "platlib")]
    return spec is not None and spec.origin is not None and spec.origin.startswith(tuple(folders))


def _import(names):
    """Imports those that are installed. What fails here fails in the script too, which may expect it."""
    import importlib
    import tempfile

    with tempfile.TemporaryFile() as told:
        kept = [os.dup(1), os.dup(2)]
        os.dup2(told.fileno(), 1)
        os.dup2(told.fileno(), 2)
        for name in names:
            try:
                if _is_installed(name):
                    importlib.import_module(name)
            except Exception:
                continue
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(kept[0], 1)
        os.dup2(kept[1], 2)
        if told.seek(0, os.SEEK_END):
            raise RuntimeError("a module that it imports prints")
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("a module that it imports starts threads")


def _prepare(given, script):
    """Reads the script and imports what it does. Gives its code and path, and whether each rank is to initialize MPI."""
    import ast
    import ctypes
    import gc
    import re

    sys.orig_argv[:] = given
    if not sys.flags.isolated and not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.path.dirname(os.path.realpath(script))
    with open(script, "rb") as file:
        text = file.read()
    names = list(_names(ast.parse(text)))
    uses_mpi = any(name.partition(".")[0] == "mpi4py" for name in names)
    if uses_mpi and re.search(rb"\brc\b", text):
        raise RuntimeError("it sets mpi4py.rc")
    if uses_mpi:
        import mpi4py

        mpi4py.rc.initialize, mpi4py.rc.finalize = False, True
    _import(names)
    if uses_mpi:
        mpi4py.rc.initialize, mpi4py.rc.finalize = True, None
    code = compile(text, _absolute(script), "exec", dont_inherit=True)
    # What ranks need of the system is looked for here, where a rank can still start alone.
    ctypes.CDLL(None).prctl  # noqa: B018
    gc.collect()
    gc.freeze()
    return code, _absolute(script), "mpi4py.MPI" in sys.modules


def _begin(rank, parent):
    """Makes the process that was just forked a rank."""
    import ctypes

    ctypes.CDLL(None).prctl(1, 9)
    if os.getppid() != parent:
        os._exit(1)
    os.environ["HOTLINK_RANK"] = str(rank)
    if rank > 0:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
    if "numpy.random" in sys.modules:
        # Each interpreter begins with other random numbers.
        sys.modules["numpy.random"].seed()


def _initialize():
    """What the import of mpi4py.MPI would have done."""
    import mpi4py
    from mpi4py import MPI

    levels = {"single": MPI.THREAD_SINGLE, "funneled": MPI.THREAD_FUNNELED, "serialized": MPI.THREAD_SERIALIZED}
    MPI.Init_thread(levels.get(mpi4py.rc.thread_level, MPI.THREAD_MULTIPLE) if mpi4py.rc.threads else MPI.THREAD_SINGLE)


def _serve(ranks, pipe):
    """Forks the ranks and tells how they end. Only in a rank does it return."""
    import signal

    parent, running = os.getpid(), {}

    def tell(line):
        os.write(pipe, f"{line}\n".encode())

    tell("ready")
    for rank in range(ranks):
        child = os.fork()
        if child == 0:
            os.close(pipe)
            _begin(rank, parent)
            return
        running[child] = rank
        tell(f"started {rank} {child}")
    # These are for the ranks, which get them as well.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
    while running:
        child, status = os.waitpid(-1, 0)
        tell(f"ended {running.pop(child)} {status}")
    os._exit(0)


def _run(code, path):
    """Runs the script as the interpreter would. No name of this file is there then, nor in tracebacks."""
    import builtins
    import os
    import signal
    import sys
    from importlib.machinery import SourceFileLoader

    space = sys.modules["__main__"].__dict__
    space.clear()
    space.update(__name__="__main__", __file__=path, __builtins__=builtins, __doc__=None, __package__=None)
    space.update(__loader__=SourceFileLoader("__main__", path), __spec__=None, __cached__=None, __annotations__={})
    try:
        exec(code, space)
    except SystemExit:
        raise
    except BaseException as error:
        trace = error.__traceback__ and error.__traceback__.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        if isinstance(error, KeyboardInterrupt):
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGINT)
        sys.exit(1)


def _main():
    ranks, pipe, options = (int(word) for word in sys.argv[1:4])
    given = sys.argv[4:]
    script = given[1 + options]
    sys.argv[:] = given[1 + options :]
    try:
        code, path, has_mpi = _prepare(given, script)
    except BaseException as error:
        os.write(pipe, f"no {error}".replace("\n", " ").encode() + b"\n")
        os._exit(0)
    _serve(ranks, pipe)
    if has_mpi:
        _initialize()
    _run(code, path)


_main()
