//! The bare binary: see the library.

fn main() -> std::process::ExitCode {
    hotlink_cli::main(std::env::args_os(), None).into()
}
