"""Mutants of the Verilog: one small edit each, of the kinds that a slip of the hand makes. run.py runs them.

A mutant is named by its file, the text of its line, the column, and the new text. So its row in the table outlives
edits elsewhere. Lines that stand in a file more than once are told apart by their number among the equal.
"""

import dataclasses
import pathlib
import re

TOKEN = re.compile(
    r"""(?P<skip>//[^\n]*|\(\*[^)]*\*\)|`\w+[^\n]*|"[^"]*"|\s+)
      |(?P<number>\d*'[sS]?[bdhBDH][0-9a-fA-F_]+|\d+)
      |(?P<name>[A-Za-z_]\w*)
      |(?P<op><=|>=|==|!=|&&|\|\||~\^|<<|>>|\*\*|\+:|-:|[-+*/&|^~!<>=?:;,.()\[\]{}@\#])""",
    re.VERBOSE,
)
OPERATORS = {"&": "|", "|": "&", "^": "~^", "~^": "^", "&&": "||", "||": "&&", "==": "!=", "!=": "==", "+": "-",
             "-": "+", "<": "<=", ">": ">=", "<<": ">>", "*": "+"}
DECLARES = ("wire", "reg", "integer", "genvar", "localparam", "parameter", "input", "output")
WORDS = {"if", "else", "begin", "end", "for", "case", "endcase", "default", "always", "assign", "posedge", "negedge",
         "generate", "endgenerate", "endmodule", "module", "signed", *DECLARES}


@dataclasses.dataclass(frozen=True)
class Token:
    kind: str
    text: str
    at: int


@dataclasses.dataclass(frozen=True)
class Mutant:
    file: str
    line: str  # its text, without blanks around it
    column: int
    kind: str
    old: str
    new: str
    start: int = dataclasses.field(compare=False)  # offsets in the file
    end: int = dataclasses.field(compare=False)
    nth: int = 1  # of the equal lines in its file

    def key(self):
        return self.file, self.line, str(self.nth), str(self.column), self.kind, self.new

    def apply(self, text):
        return text[: self.start] + self.new + text[self.end :]


def tokens(text):
    found, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise ValueError(f"no token at {text[at:at + 20]!r}")
        if match.lastgroup != "skip":
            found.append(Token(match.lastgroup, match.group(), at))
        at = match.end()
    return found


def closing(ts, k, pair="()"):
    """The index of the bracket that closes the one at k."""
    depth = 0
    for j in range(k, len(ts)):
        depth += (ts[j].text == pair[0]) - (ts[j].text == pair[1])
        if depth == 0:
            return j
    raise ValueError("a bracket stays open")


def widths(ts):
    """Signals and their declared ranges, in order of declaration."""
    found = {}
    for k, token in enumerate(ts):
        if token.text not in ("wire", "reg"):
            continue
        j, width = k + 1, ""
        if ts[j].text == "[":
            end = closing(ts, j, "[]")
            width = " ".join(t.text for t in ts[j : end + 1])
            j = end + 1
        while ts[j].kind == "name" and ts[j].text not in WORDS:
            memory = ts[j + 1].text == "["
            found[ts[j].text] = width + (" memory" if memory else "")
            depth = 0
            while depth or ts[j].text not in (",", ";", ")"):
                depth += (ts[j].text in "([{") - (ts[j].text in ")]}")
                j += 1
            if ts[j].text != ",":
                break
            j += 1
    return found


def declared_names(ts, first):
    """Where names are declared in a list (`reg a = 0, b;`): these are no uses."""
    found = set()
    for k in range(first, len(ts)):
        if ts[k].text not in ("wire", "reg") or ts[k - 1].text in ("input", "output"):
            continue
        depth = 0
        for j in range(k + 1, len(ts)):
            depth += (ts[j].text in "([{") - (ts[j].text in ")]}")
            if depth == 0 and ts[j].text == ";":
                break
            if depth == 0 and ts[j].kind == "name" and ts[j - 1].text in (",", "wire", "reg", "]"):
                found.add(j)
    return found


def constant(text):
    if "'" not in text:
        return str(int(text) + 1)
    size, rest = text.split("'")
    base, digits = rest[0], rest[1:].replace("_", "")
    radix = {"b": 2, "d": 10, "h": 16}[base.lower()]
    value = int(digits, radix) ^ 1
    form = {2: "b", 10: "d", 16: "x"}[radix]
    return f"{size}'{base}{value:0{len(digits)}{form}}"


def statements(ts, first):
    """(start, end, sign) of each assignment: its first token, its semicolon, the token of `=` or `<=`."""
    begin, depth, sign = first, 0, None
    for k in range(first, len(ts)):
        text = ts[k].text
        depth += (text in "([{") - (text in ")]}")
        if depth == 0 and text in ("=", "<=") and sign is None:
            sign = k
        if depth == 0 and text == ";":
            if sign is not None:
                start = sign - 1  # back over the left side
                while ts[start].text in "]}" or ts[start].text == ",":
                    opener = {"]": "[", "}": "{"}[ts[start].text]
                    level = 0
                    while True:
                        level += (ts[start].text in "]}") - (ts[start].text in "[{")
                        start -= 1
                        if level == 0:
                            break
                    if opener == "{":
                        start += 1
                        break
                yield begin, start, sign, k
            begin, sign = k + 1, None
        elif depth == 0 and text in ("begin", "end", "else", "generate", "endcase"):
            begin, sign = k + 1, None


def mutants_of(path):
    """All mutants of one file, each once."""
    text = path.read_text()
    ts = tokens(text)
    # The header (parameters with their defaults, ports) is what users set: mutants begin behind it.
    module = next(k for k, t in enumerate(ts) if t.text == "module")
    first = next(k for k in range(module, len(ts)) if ts[k].text == ";") + 1
    signals = widths(ts)
    found = {}

    def add(kind, start, end, new):
        line_start = text.rfind("\n", 0, start) + 1
        line_end = text.find("\n", start)
        line = text[line_start:line_end]
        if "unused" in line or new == text[start:end]:
            return
        indent = len(line) - len(line.lstrip())
        nth = sum(before.strip() == line.strip() for before in text[:line_start].splitlines()) + 1
        mutant = Mutant(path.name, line.strip(), start - line_start - indent, kind, text[start:end], new, start, end, nth)
        found.setdefault((start, end, new), mutant)

    def span(k):
        return ts[k].at, ts[k].at + len(ts[k].text)

    ranges, k = set(), first  # ranges of declarations are sizes, not behaviour
    while k < len(ts):
        if ts[k].text in DECLARES and ts[k + 1].text == "[":
            ranges |= set(range(k + 1, closing(ts, k + 1, "[]") + 1))
        k += 1
    names, signs = declared_names(ts, first), set()
    for begin, start, sign, end in statements(ts, first):
        signs.add(sign)
        lead = ts[begin].text
        if lead in ("localparam", "parameter", "integer", "genvar", "reg"):
            continue
        value = (ts[sign + 1].at, ts[end].at)
        if lead in ("assign", "wire"):
            add("stuck", *value, "0")
            add("stuck", *value, "~0")
        else:
            add("drop", ts[start].at, ts[end].at, "")
    for k in range(first, len(ts)):
        if k in ranges:
            continue
        t, before, after = ts[k], ts[k - 1].text, ts[k + 1].text if k + 1 < len(ts) else ""
        if t.kind == "op" and t.text in OPERATORS and k not in signs and not (t.text == "*" and before == "@"):
            add("operator", *span(k), OPERATORS[t.text])
        elif t.text in ("~", "!"):
            add("not", *span(k), "")
        elif t.text == "?":
            add("condition", *span(k), "== 0 ?")
        elif t.kind == "number":
            add("constant", *span(k), constant(t.text))
        elif t.text == "if":
            inside = ts[k + 1].at + 1, ts[closing(ts, k + 1)].at
            add("condition", *inside, "1'b0")
            add("condition", *inside, "1'b1")
        elif t.text == "posedge":
            add("edge", *span(k), "negedge")
        elif t.kind == "name" and t.text in signals and before != ".":
            declared = before in DECLARES or before == "]" and k - 1 in ranges
            target = after in ("=", "<=") and k + 1 in signs
            if declared or target or k in names:
                continue
            if t.text == "rst":
                add("reset", *span(k), "1'b0")
            elif t.text != "clk":
                alike = [s for s in signals if signals[s] == signals[t.text] and s not in ("clk", "rst") and "unused" not in s]
                if len(alike) > 1:
                    add("swap", *span(k), alike[(alike.index(t.text) + 1) % len(alike)])
    return list(found.values())


def all_mutants(folder):
    return [m for path in sorted(pathlib.Path(folder).glob("hb_*.v")) for m in mutants_of(path)]


if __name__ == "__main__":
    import collections
    import sys

    every = all_mutants(sys.argv[1])
    print(collections.Counter(m.file for m in every), collections.Counter(m.kind for m in every), len(every))
    for m in every:
        if len(sys.argv) > 2 and m.file == sys.argv[2]:
            print(m.kind, "|", m.line, "|", m.column, repr(m.old), "->", repr(m.new))
