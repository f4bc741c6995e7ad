//! The program.
//!
//! It keeps the allocator of the system: allocating and freeing are 3 % of the CPU time of a call, so that another one
//! could not pay for itself.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    portcullis::main()
}
