//! What a command prints on standard output: a text for people, or one JSON document for scripts.

use std::io::{self, IsTerminal as _, Write};

use portcullis_model::json::Value;

use crate::arguments::Format;
use crate::failure::OrExit as _;
use crate::{Exit, Failure};

/// Something that is printed in both forms.
pub(crate) trait Report {
    /// Returns the document.
    fn to_value(&self) -> Value;

    /// Writes the text.
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()>;
}

/// Prints a report.
pub(crate) fn print(report: &impl Report, format: Format) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = if format.json {
        writeln!(out, "{}", report.to_value().to_json()).and_then(|()| out.flush())
    } else {
        report.write_text(&mut out).and_then(|()| out.flush())
    };
    match written {
        // `portcullis list | head` is no error.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.or_exit(Exit::Internal, "writing to standard output"),
    }
}

/// Says on a terminal what takes long. Scripts and logs are spared it.
pub(crate) fn progress(step: &str, format: Format) {
    if io::stderr().is_terminal() && !format.json {
        let _unwritable = writeln!(io::stderr(), "{step}…");
    }
}

/// What is said while policies are compiled.
pub(crate) const LOADING: &str = "loading policies (a first time compiles them)";

/// Returns `1 thing`, `2 things`.
pub(crate) fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}
