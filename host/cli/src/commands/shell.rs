//! `portcullis completions` and `portcullis man`: the command line, told to shells and to `man`.

use std::io::{self, Write as _};

use clap::CommandFactory as _;

use crate::arguments::{Arguments, Completions, Man};
use crate::failure::OrExit as _;
use crate::{Exit, Failure};

/// Writes a script that completes the command line in a shell.
pub(crate) fn completions(completions: &Completions) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut Arguments::command(), "portcullis", &mut script);
    io::stdout().lock().write_all(&script).or_exit(Exit::Internal, "writing to standard output")?;
    Ok(Exit::Success)
}

/// Writes the manual page, or one for each command into a folder.
pub(crate) fn man(man: &Man) -> Result<Exit, Failure> {
    if let Some(folder) = &man.to {
        let doing = || format!("writing pages into {}", folder.display());
        std::fs::create_dir_all(folder).or_exit(Exit::Usage, doing())?;
        clap_mangen::generate_to(Arguments::command(), folder).or_exit(Exit::Usage, doing())?;
    } else {
        let mut page = Vec::new();
        clap_mangen::Man::new(Arguments::command()).render(&mut page).or_exit(Exit::Internal, "making the page")?;
        io::stdout().lock().write_all(&page).or_exit(Exit::Internal, "writing to standard output")?;
    }
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_is_shown_has_a_page_and_is_completed() {
        let folder = tempfile::tempdir().unwrap();
        man(&Man { to: Some(folder.path().to_owned()) }).unwrap();
        let mut script = Vec::new();
        clap_complete::generate(clap_complete::Shell::Bash, &mut Arguments::command(), "portcullis", &mut script);
        let script = String::from_utf8(script).unwrap();
        for command in Arguments::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let page = folder.path().join(format!("portcullis-{}.1", command.get_name()));
            assert!(page.exists(), "{}", page.display());
            assert!(script.contains(command.get_name()), "{}", command.get_name());
        }
    }
}
