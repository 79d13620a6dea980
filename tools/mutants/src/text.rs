//! The written text: the source with a switch around or before each mutated place.

/// Text that is put before or after a place; of one mutant, or of none.
pub struct Piece {
    pub text: String,
    pub of: Option<usize>,
}

/// One variant of a place: the mutant's number in its file, and its text.
pub type Variant = (usize, String);

/// A place of the source and what is put there. Places lie within one another, or apart.
pub struct Node {
    pub start: usize,
    pub end: usize,
    pub kind: Kind,
}

pub enum Kind {
    /// An expression, or one of its variants.
    Expr(Vec<Variant>),
    /// Done, or not.
    Skip(usize),
    /// At a function's beginning: returns one of these values.
    Return(Vec<Variant>),
    /// After a pattern without a guard: never taken.
    Arm(usize),
    /// A guard: always false, or always true.
    Guard(usize, usize),
}

/// Where in the written text the compiler may complain of which mutants.
pub struct Place {
    pub start: usize,
    pub end: usize,
    pub of: Vec<usize>,
}

/// The text with those mutants that are in, and the places of each.
pub fn write(
    source: &str,
    nodes: &[Node],
    is_in: &dyn Fn(usize) -> bool,
    on: &dyn Fn(usize) -> String,
) -> (String, Vec<Place>) {
    let mut order: Vec<&Node> = nodes.iter().collect();
    // What is only put before a place comes first, then the outer ones.
    order.sort_by_key(|node| (node.start, node.end > node.start, std::cmp::Reverse(node.end)));
    let mut writer = Writer { source, is_in, on, text: String::new(), places: Vec::new() };
    let mut rest = &order[..];
    writer.part(0, source.len(), &mut rest);
    (writer.text, writer.places)
}

struct Writer<'a> {
    source: &'a str,
    is_in: &'a dyn Fn(usize) -> bool,
    on: &'a dyn Fn(usize) -> String,
    text: String,
    places: Vec<Place>,
}

impl Writer<'_> {
    /// Writes the source from `at` to `end`, with the nodes that lie there.
    fn part(&mut self, mut at: usize, end: usize, rest: &mut &[&Node]) {
        while let Some(node) = rest.first().filter(|node| node.start < end) {
            assert!(node.start >= at && node.end <= end, "places overlap");
            *rest = &rest[1..];
            self.text += &self.source[at..node.start];
            let (before, after) = self.pieces(&node.kind);
            let start = self.text.len();
            let mut of = Vec::new();
            for piece in before {
                let start = self.text.len();
                self.text += &piece.text;
                if let Some(mutant) = piece.of {
                    self.places.push(Place { start, end: self.text.len(), of: vec![mutant] });
                    of.push(mutant);
                }
            }
            if node.end > node.start {
                self.part(node.start, node.end, rest);
            }
            self.text += after;
            if !of.is_empty() {
                self.places.push(Place { start, end: self.text.len(), of });
            }
            at = node.end;
        }
        self.text += &self.source[at..end];
    }
    /// What is put before and after a place.
    fn pieces(&self, kind: &Kind) -> (Vec<Piece>, &'static str) {
        let plain = |text: &str| Piece { text: text.to_owned(), of: None };
        let of = |mutant: usize, text: String| Piece { text, of: Some(mutant) };
        let on = |mutant: usize| (self.on)(mutant);
        match kind {
            Kind::Expr(variants) => {
                let variants: Vec<&Variant> = variants.iter().filter(|(mutant, _)| (self.is_in)(*mutant)).collect();
                if variants.is_empty() {
                    return (Vec::new(), "");
                }
                let mut before = vec![plain("(")];
                for (mutant, text) in variants {
                    before.push(of(*mutant, format!("if {} {{ {text} }} else ", on(*mutant))));
                }
                before.push(plain("{ "));
                (before, " })")
            }
            Kind::Skip(mutant) if (self.is_in)(*mutant) => {
                (vec![of(*mutant, format!("if !{} {{ ", on(*mutant)))], " }")
            }
            Kind::Arm(mutant) if (self.is_in)(*mutant) => (vec![of(*mutant, format!(" if !{}", on(*mutant)))], ""),
            Kind::Skip(_) | Kind::Arm(_) => (Vec::new(), ""),
            Kind::Return(variants) => {
                let variants = variants.iter().filter(|(mutant, _)| (self.is_in)(*mutant));
                let text =
                    |(mutant, value): &Variant| of(*mutant, format!(" if {} {{ return {value}; }}", on(*mutant)));
                (variants.map(text).collect(), "")
            }
            Kind::Guard(never, always) => {
                let piece = |mutant: &usize, not: &str, join: &str| match (self.is_in)(*mutant) {
                    true => of(*mutant, format!("{not}{} {join} (", on(*mutant))),
                    false => plain("("),
                };
                (vec![piece(never, "!", "&&"), piece(always, "", "||")], "))")
            }
        }
    }
}
