//! The mutants of a file.
//!
//! The mutants of `cargo-mutants`: bodies replaced by values, operators by others, `!` and `-` removed. Guards always or
//! never hold, and arms and fields of structs are left out. This adds statements and calls left out, conditions turned
//! round, and named constants off by one.

use crate::text::{Kind, Node, Variant};
use crate::values;
use proc_macro2::Span;
use std::collections::BTreeSet;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, BinOp, Block, Expr, Item, Pat, ReturnType, Stmt, Type, UnOp};

/// A mutant: where, and what is changed.
pub struct Mutant {
    pub name: String,
    pub line: usize,
    pub column: usize,
}

/// What [`mutants`] finds.
pub struct Found {
    pub mutants: Vec<Mutant>,
    /// The places of the mutants, which have them by number.
    pub nodes: Vec<Node>,
}

/// All mutants of a file.
pub fn mutants(source: &str, file: &syn::File) -> Found {
    let mut constants = Constants(BTreeSet::new());
    constants.visit_file(file);
    let found = Found { mutants: Vec::new(), nodes: Vec::new() };
    let mut finder = Finder { source, constants: constants.0, within: Vec::new(), later: BTreeSet::new(), found };
    finder.visit_file(file);
    finder.found
}

/// The whole numbers that a file gives names to.
struct Constants(BTreeSet<String>);

impl<'a> Visit<'a> for Constants {
    fn visit_item_const(&mut self, item: &'a syn::ItemConst) {
        self.take(&item.ident, &item.ty);
    }
    fn visit_impl_item_const(&mut self, item: &'a syn::ImplItemConst) {
        self.take(&item.ident, &item.ty);
    }
}

impl Constants {
    fn take(&mut self, ident: &syn::Ident, ty: &Type) {
        if let Type::Path(path) = ty
            && ["u8", "u16", "u32", "u64", "usize", "i32", "i64"].iter().any(|whole| path.path.is_ident(whole))
        {
            self.0.insert(ident.to_string());
        }
    }
}

struct Finder<'s> {
    source: &'s str,
    constants: BTreeSet<String>,
    /// The type and function that it is in.
    within: Vec<String>,
    /// Variables of the function that are declared without a value: who sets them must not be left out.
    later: BTreeSet<String>,
    found: Found,
}

impl<'s> Finder<'s> {
    fn text(&self, span: Span) -> &'s str {
        &self.source[span.byte_range()]
    }
    /// Notes a mutant; its number.
    fn mutant(&mut self, at: Span, what: &str) -> usize {
        let words: Vec<&str> = what.split_whitespace().collect();
        let name = format!("{}: {}", self.within.join("::"), words.join(" "));
        let start = at.start();
        self.found.mutants.push(Mutant { name, line: start.line, column: start.column + 1 });
        self.found.mutants.len() - 1
    }
    fn node(&mut self, span: Span, kind: Kind) {
        let range = span.byte_range();
        self.found.nodes.push(Node { start: range.start, end: range.end, kind });
    }
    /// An expression with variants: for each, what it is called and its text.
    fn variants(&mut self, at: Span, variants: Vec<(String, String)>) {
        let variants: Vec<Variant> = variants.into_iter().map(|(what, text)| (self.mutant(at, &what), text)).collect();
        if !variants.is_empty() {
            self.node(at, Kind::Expr(variants));
        }
    }
    fn skip(&mut self, span: Span) {
        let number = self.mutant(span, &format!("leave out `{}`", short(self.text(span))));
        self.node(span, Kind::Skip(number));
    }
    fn function(&mut self, sig: &syn::Signature, block: &Block) {
        if sig.constness.is_some() {
            return;
        }
        self.within.push(sig.ident.to_string());
        let before = std::mem::take(&mut self.later);
        self.returns(sig, block);
        let is_unit = matches!(sig.output, ReturnType::Default);
        self.block(block, is_unit && block.stmts.len() > 1);
        self.later = before;
        self.within.pop();
    }
    /// The body replaced by values.
    fn returns(&mut self, sig: &syn::Signature, block: &Block) {
        let values = match &sig.output {
            ReturnType::Default if block.stmts.is_empty() => Vec::new(),
            ReturnType::Default => vec!["()".to_owned()],
            ReturnType::Type(_, returned) => values::of(returned),
        };
        let body = match &block.stmts[..] {
            [only] => self.text(only.span()),
            _ => "",
        };
        let values: Vec<String> = values.into_iter().filter(|value| value != body).collect();
        let at = sig.ident.span();
        let variants = values.into_iter().map(|value| (self.mutant(at, &format!("return `{value}`")), value)).collect();
        let start = block.brace_token.span.open().byte_range().end;
        self.found.nodes.push(Node { start, end: start, kind: Kind::Return(variants) });
    }
    /// Statements; `is_unit`: the block has no value.
    fn block(&mut self, block: &Block, is_unit: bool) {
        for (index, statement) in block.stmts.iter().enumerate() {
            let is_last = index + 1 == block.stmts.len();
            match statement {
                Stmt::Local(local) => {
                    match (&local.pat, &local.init) {
                        (Pat::Ident(name), None) => _ = self.later.insert(name.ident.to_string()),
                        (Pat::Type(typed), None) => _ = self.later.insert(self.text(typed.pat.span()).to_owned()),
                        (Pat::Wild(_), Some(_)) => self.skip(local.span()),
                        _ => {}
                    }
                    self.visit_local(local);
                }
                Stmt::Expr(expr, semicolon) => {
                    if semicolon.is_some() || !is_last || is_unit {
                        self.effect(expr, statement.span());
                    }
                    self.visit_expr(expr);
                }
                Stmt::Item(item) => self.visit_item(item),
                // What is in a macro is not known, and most are assertions.
                Stmt::Macro(_) => {}
            }
        }
    }
    /// An expression that is there for what it does: it, or each of its parts, is left out.
    fn effect(&mut self, expr: &Expr, whole: Span) {
        match expr {
            Expr::Assign(assign) if self.is_first_value(&assign.left) => {}
            Expr::Call(_) | Expr::MethodCall(_) | Expr::Assign(_) | Expr::ForLoop(_) | Expr::Try(_) => self.skip(whole),
            Expr::Binary(_) | Expr::Await(_) => self.skip(whole),
            Expr::Match(parts) => {
                for arm in &parts.arms {
                    match &*arm.body {
                        // What a block has at its end is left out when its statements are visited.
                        Expr::Block(_) => {}
                        body => self.effect(body, body.span()),
                    }
                }
            }
            _ => {}
        }
    }
    /// Whether variables get their first value here.
    fn is_first_value(&self, left: &Expr) -> bool {
        match left {
            Expr::Path(path) => path.path.get_ident().is_some_and(|ident| self.later.contains(&ident.to_string())),
            Expr::Tuple(tuple) => tuple.elems.iter().any(|part| self.is_first_value(part)),
            _ => false,
        }
    }
    /// A condition, turned round where no operator of it is exchanged already.
    fn condition(&mut self, condition: &Expr) {
        match condition {
            Expr::Binary(binary) if matches!(binary.op, BinOp::And(_)) && holds_let(condition) => {
                self.condition(&binary.left);
                self.condition(&binary.right);
            }
            Expr::MethodCall(_) | Expr::Call(_) | Expr::Path(_) | Expr::Field(_) | Expr::Macro(_) | Expr::Index(_) => {
                let span = condition.span();
                let text = self.text(span);
                self.variants(span, vec![(format!("turn round `{}`", short(text)), format!("!({text})"))]);
            }
            _ => {}
        }
    }
}

impl<'a> Visit<'a> for Finder<'_> {
    fn visit_item(&mut self, item: &'a Item) {
        let (attributes, name) = match item {
            Item::Fn(item) => (&item.attrs, None),
            Item::Impl(item) => (&item.attrs, Some(type_name(&item.self_ty))),
            Item::Mod(item) => (&item.attrs, Some(item.ident.to_string())),
            Item::Trait(item) => (&item.attrs, Some(item.ident.to_string())),
            // Nothing else runs.
            _ => return,
        };
        if is_of_tests(attributes) {
            return;
        }
        self.within.extend(name.clone());
        visit::visit_item(self, item);
        if name.is_some() {
            self.within.pop();
        }
    }
    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        self.function(&item.sig, &item.block);
    }
    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        if !is_of_tests(&item.attrs) {
            self.function(&item.sig, &item.block);
        }
    }
    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.function(&item.sig, block);
        }
    }
    fn visit_block(&mut self, block: &'a Block) {
        self.block(block, false);
    }
    fn visit_impl_item_const(&mut self, _: &'a syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'a syn::TraitItemConst) {}
    fn visit_type(&mut self, _: &'a Type) {}
    fn visit_attribute(&mut self, _: &'a Attribute) {}
    fn visit_expr_const(&mut self, _: &'a syn::ExprConst) {}
    fn visit_pat(&mut self, _: &'a Pat) {}
    fn visit_expr_repeat(&mut self, repeat: &'a syn::ExprRepeat) {
        self.visit_expr(&repeat.expr);
    }
    fn visit_expr_if(&mut self, expr: &'a syn::ExprIf) {
        self.condition(&expr.cond);
        self.visit_expr(&expr.cond);
        self.block(&expr.then_branch, expr.else_branch.is_none());
        if let Some((_, otherwise)) = &expr.else_branch {
            self.visit_expr(otherwise);
        }
    }
    fn visit_expr_while(&mut self, expr: &'a syn::ExprWhile) {
        self.condition(&expr.cond);
        self.visit_expr(&expr.cond);
        self.block(&expr.body, true);
    }
    fn visit_expr_for_loop(&mut self, expr: &'a syn::ExprForLoop) {
        self.visit_expr(&expr.expr);
        self.block(&expr.body, true);
    }
    fn visit_expr_match(&mut self, expr: &'a syn::ExprMatch) {
        self.visit_expr(&expr.expr);
        let takes_all = |pat: &Pat| match pat {
            Pat::Wild(_) => true,
            Pat::Ident(name) => name.subpat.is_none() && name.ident.to_string().starts_with(char::is_lowercase),
            _ => false,
        };
        let has_rest = expr.arms.iter().any(|arm| takes_all(&arm.pat));
        for arm in &expr.arms {
            if let Pat::Guard(guarded) = &arm.pat {
                let span = guarded.guard.span();
                let pattern = short(self.text(guarded.span()));
                let never = self.mutant(span, &format!("never take `{pattern}`"));
                let always = self.mutant(span, &format!("take `{pattern}` without its guard"));
                self.node(span, Kind::Guard(never, always));
                self.visit_expr(&guarded.guard);
            } else if has_rest && !takes_all(&arm.pat) {
                let span = arm.pat.span();
                let never = self.mutant(span, &format!("never take `{}`", short(self.text(span))));
                let end = span.byte_range().end;
                self.found.nodes.push(Node { start: end, end, kind: Kind::Arm(never) });
            }
            self.visit_expr(&arm.body);
        }
    }
    fn visit_expr_binary(&mut self, expr: &'a syn::ExprBinary) {
        let span = expr.span();
        if !(matches!(expr.op, BinOp::And(_) | BinOp::Or(_)) && holds_let_in(expr)) {
            // Another operator may bind more tightly.
            let side = |side: &Expr| match side {
                Expr::Binary(_) | Expr::Cast(_) => format!("({})", self.text(side.span())),
                _ => self.text(side.span()).to_owned(),
            };
            let (left, right) = (side(&expr.left), side(&expr.right));
            let op = self.text(expr.op.span());
            let whole = short(self.text(span));
            let others = others(&expr.op).iter();
            let variant =
                |other: &&str| (format!("`{other}` for `{op}` in `{whole}`"), format!("{left} {other} {right}"));
            self.variants(span, others.map(variant).collect());
        }
        visit::visit_expr_binary(self, expr);
    }
    fn visit_expr_unary(&mut self, expr: &'a syn::ExprUnary) {
        if matches!(expr.op, UnOp::Not(_) | UnOp::Neg(_)) {
            let span = expr.span();
            let what = format!("no `{}` in `{}`", self.text(expr.op.span()), short(self.text(span)));
            self.variants(span, vec![(what, self.text(expr.expr.span()).to_owned())]);
        }
        visit::visit_expr_unary(self, expr);
    }
    fn visit_expr_struct(&mut self, expr: &'a syn::ExprStruct) {
        if let Some(rest) = &expr.rest {
            let name = self.text(expr.path.span());
            let rest = self.text(rest.span());
            let mut variants = Vec::new();
            for out in 0..expr.fields.len() {
                let kept = expr.fields.iter().enumerate().filter(|&(index, _)| index != out);
                let kept: String = kept.map(|(_, field)| format!("{}, ", self.text(field.span()))).collect();
                let member = short(self.text(expr.fields[out].member.span()));
                variants.push((format!("no `{member}` in `{name}`"), format!("{name} {{ {kept}..{rest} }}")));
            }
            self.variants(expr.span(), variants);
        }
        visit::visit_expr_struct(self, expr);
    }
    fn visit_expr_path(&mut self, expr: &'a syn::ExprPath) {
        if expr.path.segments.last().is_some_and(|last| self.constants.contains(&last.ident.to_string())) {
            let text = self.text(expr.span());
            self.variants(expr.span(), vec![(format!("`{text}` more by one"), format!("({text}).wrapping_add(1)"))]);
        }
    }
}

fn holds_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(binary) => holds_let_in(binary),
        _ => false,
    }
}
fn holds_let_in(binary: &syn::ExprBinary) -> bool {
    holds_let(&binary.left) || holds_let(&binary.right)
}

/// The operators that one is exchanged for, as `cargo-mutants` has them.
fn others(op: &BinOp) -> &'static [&'static str] {
    match op {
        BinOp::Eq(_) => &["!="],
        BinOp::Ne(_) => &["=="],
        BinOp::Lt(_) => &["==", ">", "<="],
        BinOp::Gt(_) => &["==", "<", ">="],
        BinOp::Le(_) => &[">", "<"],
        BinOp::Ge(_) => &["<", ">"],
        BinOp::And(_) => &["||"],
        BinOp::Or(_) => &["&&"],
        BinOp::Add(_) => &["-", "*"],
        BinOp::Sub(_) => &["+", "/"],
        BinOp::Mul(_) => &["+", "/"],
        BinOp::Div(_) => &["%", "*"],
        BinOp::Rem(_) => &["/", "+"],
        BinOp::Shl(_) => &[">>"],
        BinOp::Shr(_) => &["<<"],
        BinOp::BitAnd(_) => &["|", "^"],
        BinOp::BitOr(_) => &["&", "^"],
        BinOp::BitXor(_) => &["|", "&"],
        BinOp::AddAssign(_) => &["-=", "*="],
        BinOp::SubAssign(_) => &["+=", "/="],
        BinOp::MulAssign(_) => &["+=", "/="],
        BinOp::DivAssign(_) => &["%=", "*="],
        BinOp::RemAssign(_) => &["/=", "+="],
        BinOp::ShlAssign(_) => &[">>="],
        BinOp::ShrAssign(_) => &["<<="],
        BinOp::BitAndAssign(_) => &["|=", "^="],
        BinOp::BitOrAssign(_) => &["&=", "^="],
        BinOp::BitXorAssign(_) => &["|=", "&="],
        _ => &[],
    }
}

fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let Ok(list) = attribute.meta.require_list() else { return attribute.path().is_ident("test") };
        list.path.is_ident("cfg") && list.tokens.to_string().contains("test")
    })
}

fn type_name(ty: &Type) -> String {
    match ty {
        Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default(),
        Type::Reference(reference) => type_name(&reference.elem),
        _ => "?".to_owned(),
    }
}

/// A name's worth of source.
fn short(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("( ", "(").replace(", )", ")");
    if line.chars().count() <= 80 { line } else { line.chars().take(77).chain("...".chars()).collect() }
}
