//! The program.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    portcullis::main()
}
