//! The program under test.

fn main() -> std::process::ExitCode {
    portcullis::main()
}
