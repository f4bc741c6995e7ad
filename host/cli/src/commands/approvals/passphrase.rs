//! The passphrase that approvals may need.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;

use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};
use portcullis_store::Home;

use crate::failure::OrExit as _;
use crate::operator::Passphrase;
use crate::{Exit, Failure, arguments};

/// So much of a file or a line is read at most.
const LONGEST: u64 = 4_096;

/// Sets or removes the passphrase of a home.
pub(super) fn set(home: &Home, arguments: &arguments::Passphrase) -> Result<Exit, Failure> {
    if arguments.remove {
        // Whoever can write to the home can remove it: it guards running gateways, which keep what they read.
        let removed = Passphrase::remove(home).or_exit(Exit::State, "removing the passphrase")?;
        say(if removed { "removed; running gateways ask for it until they end" } else { "none was set" });
        return Ok(Exit::Success);
    }
    let text = if let Some(file) = &arguments.file {
        from_file(file)?
    } else {
        let text = ask("New passphrase: ")?;
        if ask("Once more: ")? != text {
            return Err(Failure::new(Exit::Failed, "the two are not the same"));
        }
        text
    };
    Passphrase::set(home, &text).or_exit(Exit::State, "setting the passphrase")?;
    say("set; gateways that start from now on ask for it");
    Ok(Exit::Success)
}

fn say(text: &str) {
    let _unwritable = writeln!(io::stdout(), "{text}");
}

/// Reads a passphrase from a file, `-` for standard input: its first line.
pub(crate) fn from_file(path: &Path) -> Result<String, Failure> {
    let doing = || format!("reading the passphrase from `{}`", path.display());
    let mut line = String::new();
    let read = if path == Path::new("-") {
        BufReader::new(io::stdin().lock().take(LONGEST)).read_line(&mut line)
    } else {
        File::open(path).and_then(|file| BufReader::new(file.take(LONGEST)).read_line(&mut line))
    };
    read.or_exit(Exit::Usage, doing())?;
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

/// Asks for a passphrase on the terminal, without showing it.
pub(crate) fn ask(prompt: &str) -> Result<String, Failure> {
    let hint = |failure: Failure| failure.hint("without a terminal, name a file with `--passphrase-file`");
    let doing = "asking for the passphrase on the terminal";
    let mut terminal =
        File::options().read(true).write(true).open("/dev/tty").or_exit(Exit::Usage, doing).map_err(hint)?;
    let shown = tcgetattr(&terminal).map_err(io::Error::from).or_exit(Exit::Usage, doing).map_err(hint)?;
    let mut hidden = shown.clone();
    hidden.local_flags.remove(LocalFlags::ECHO);
    hidden.local_flags.insert(LocalFlags::ECHONL);
    write!(terminal, "{prompt}").or_exit(Exit::Usage, doing)?;
    tcsetattr(&terminal, SetArg::TCSAFLUSH, &hidden).map_err(io::Error::from).or_exit(Exit::Usage, doing)?;
    let mut line = String::new();
    let reader = terminal.try_clone().or_exit(Exit::Usage, doing)?;
    let read = BufReader::new(reader.take(LONGEST)).read_line(&mut line);
    // Whatever came of the reading, the terminal must show again what is typed.
    tcsetattr(&terminal, SetArg::TCSAFLUSH, &shown).map_err(io::Error::from).or_exit(Exit::Usage, doing)?;
    read.or_exit(Exit::Usage, doing)?;
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}
