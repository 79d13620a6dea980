//! Values by which a function's body is replaced, from the type that it returns.

use syn::{GenericArgument, PathArguments, Type};

/// Expressions of a type that are as simple as can be. Some do not compile, since only the compiler knows a type.
pub fn of(returned: &Type) -> Vec<String> {
    match returned {
        Type::Tuple(tuple) => {
            let mut all = vec![String::new()];
            for part in &tuple.elems {
                let values = of(part);
                all = all
                    .iter()
                    .flat_map(|before| values.iter().map(move |value| format!("{before}{value}, ")))
                    .collect();
            }
            all.iter().map(|parts| format!("({parts})")).collect()
        }
        Type::Reference(reference) => match &*reference.elem {
            Type::Path(path) if path.path.is_ident("str") => words(&["\"\"", "\"xyzzy\""]),
            Type::Slice(slice) => {
                let mut all = words(&["Vec::leak(Vec::new())"]);
                all.extend(of(&slice.elem).iter().map(|value| format!("Vec::leak(vec![{value}])")));
                all
            }
            other => of(other).iter().map(|value| format!("Box::leak(Box::new({value}))")).collect(),
        },
        Type::Array(_) => words(&["Default::default()"]),
        Type::Path(path) => of_path(path),
        Type::Paren(inner) => of(&inner.elem),
        _ => Vec::new(),
    }
}

fn of_path(path: &syn::TypePath) -> Vec<String> {
    let Some(last) = path.path.segments.last() else { return Vec::new() };
    let inner = || -> Vec<String> {
        let PathArguments::AngleBracketed(arguments) = &last.arguments else { return Vec::new() };
        let first = arguments.args.iter().find_map(|argument| match argument {
            GenericArgument::Type(inner) => Some(inner),
            _ => None,
        });
        first.map(of).unwrap_or_default()
    };
    let wrapped = |name: &str| inner().iter().map(|value| format!("{name}({value})")).collect::<Vec<_>>();
    match last.ident.to_string().as_str() {
        "bool" => words(&["true", "false"]),
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "Rank" | "Tag" => words(&["0", "1"]),
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => words(&["0", "1", "-1"]),
        "f32" | "f64" => words(&["0.0", "1.0", "-1.0"]),
        "String" => words(&["String::new()", "\"xyzzy\".to_owned()"]),
        "Option" => [words(&["None"]), wrapped("Some")].concat(),
        "Result" => wrapped("Ok"),
        "Box" | "Rc" | "Arc" | "RefCell" => wrapped(&format!("{}::new", last.ident)),
        "Vec" => {
            let mut all = words(&["Vec::new()"]);
            all.extend(inner().iter().map(|value| format!("vec![{value}]")));
            all
        }
        _ => words(&["Default::default()"]),
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}
